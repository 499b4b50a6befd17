#include "platform/process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>
#include <thread>

#include "platform/environment.h"
#include "platform/error.h"
#include "platform/file.h"
#include "platform/path.h"
#include "platform/posix/pipe.h"

extern char** environ;

namespace tern::platform {
namespace {

/// The child leads a process group: one signal ends what it has started, too.
struct Actions {
  Actions() {
    ::posix_spawn_file_actions_init(&list);
    ::posix_spawnattr_init(&attributes);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  }
  ~Actions() {
    ::posix_spawn_file_actions_destroy(&list);
    ::posix_spawnattr_destroy(&attributes);
  }
  Actions(const Actions&) = delete;
  Actions& operator=(const Actions&) = delete;
  posix_spawn_file_actions_t list{};
  posix_spawnattr_t attributes{};
};

/// Pointers to texts, ended by a null pointer.
std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> environment_with(const EnvironmentVariables& variables) {
  std::vector<std::string> all;
  for (const auto& [name, value] : variables) all.push_back(name + "=" + value);
  for (char** e = environ; *e != nullptr; ++e) {
    const bool is_replaced =
        std::ranges::any_of(variables, [e](const auto& v) { return std::string_view(*e).starts_with(v.first + "="); });
    if (!is_replaced) all.emplace_back(*e);
  }
  return all;
}

}  // namespace

std::string find_program(const std::string& name) {
  for (const std::string& folder : split_paths(trusted_variable("PATH").value_or(""))) {
    std::string file = folder + "/" + name;
    if (can_execute(file)) return file;
  }
  return {};
}

ProcessResult run_process(const std::string& path, const std::vector<std::string>& arguments,
                          std::chrono::milliseconds limit, const EnvironmentVariables& variables,
                          std::size_t max_output) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + limit;
  ProcessResult result;
  int ends[2];
  if (!make_pipe(ends)) {
    result.problem = "cannot create a pipe: " + error_text(errno);
    return result;
  }
  const File read_end(ends[0]);
  File write_end(ends[1]);
  Actions actions;
  ::posix_spawn_file_actions_addopen(&actions.list, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions.list, ends[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions.list, ends[1], STDERR_FILENO);
  std::vector<std::string> words = {path}, environment = environment_with(variables);
  words.insert(words.end(), arguments.begin(), arguments.end());
  pid_t child = 0;
  const int error = ::posix_spawn(&child, path.c_str(), &actions.list, &actions.attributes, pointers_to(words).data(),
                                  pointers_to(environment).data());
  if (error != 0) {
    result.problem = "cannot run " + path + ": " + error_text(error);
    return result;
  }
  write_end.close();
  const auto append_output = [&](std::string_view piece) {
    result.output += piece.substr(0, max_output - result.output.size());
  };
  if (!read_pipe(ends[0], deadline, append_output)) {
    result.is_late = true;
    ::kill(-child, SIGKILL);
  }
  int status = 0;
  // The program may have closed its output and kept running.
  while (::waitpid(child, &status, WNOHANG) == 0) {
    if (!result.is_late && Clock::now() >= deadline) {
      result.is_late = true;
      ::kill(-child, SIGKILL);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  constexpr int kSignals = 256;
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : kSignals + WTERMSIG(status);
  if (WIFSIGNALED(status))
    result.crash = ::strsignal(WTERMSIG(status));  // NOLINT(concurrency-mt-unsafe): glibc's is safe
  return result;
}

bool is_running(long process_number) {
  return process_number > 0 && (::kill(static_cast<pid_t>(process_number), 0) == 0 || errno != ESRCH);
}

}  // namespace tern::platform
