#include "exporter/kernels/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <tern/error.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>

#include "user_files/file_descriptor.h"

extern char** environ;

namespace tern {
namespace {

/// The child leads a process group: one signal ends what it has started, too.
struct Actions {
  Actions() {
    posix_spawn_file_actions_init(&list);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  }
  ~Actions() {
    posix_spawn_file_actions_destroy(&list);
    posix_spawnattr_destroy(&attributes);
  }
  Actions(const Actions&) = delete;
  Actions& operator=(const Actions&) = delete;
  posix_spawn_file_actions_t list{};
  posix_spawnattr_t attributes{};
};

}  // namespace

std::string find_program(const std::string& name) {
  const char* path = ::secure_getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
    std::string file = fmt::format("{}/{}", folder, name);
    if (!folder.empty() && access(file.c_str(), X_OK) == 0) return file;
  }
  return {};
}

ProcessResult run_program(const std::string& path, const std::vector<std::string>& arguments,
                          std::chrono::milliseconds limit, const EnvironmentVariables& variables) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + limit;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) fail(ErrorCode::io, fmt::format("cannot create a pipe: {}", std::strerror(errno)));
  FileDescriptor read_end(ends[0]), write_end(ends[1]);
  Actions actions;
  posix_spawn_file_actions_addopen(&actions.list, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions.list, write_end.number(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions.list, write_end.number(), STDERR_FILENO);
  std::vector<std::string> words = {path};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& w : words) argv.push_back(w.data());
  argv.push_back(nullptr);
  std::vector<std::string> added;
  for (const auto& [name, value] : variables) added.push_back(name + "=" + value);
  std::vector<char*> environment;
  for (std::string& variable : added) environment.push_back(variable.data());
  for (char** e = environ; *e != nullptr; ++e) {
    const bool is_replaced =
        std::ranges::any_of(variables, [e](const auto& v) { return std::string_view(*e).starts_with(v.first + "="); });
    if (!is_replaced) environment.push_back(*e);
  }
  environment.push_back(nullptr);
  pid_t child = 0;
  const int error =
      posix_spawn(&child, path.c_str(), &actions.list, &actions.attributes, argv.data(), environment.data());
  if (error != 0) fail(ErrorCode::io, fmt::format("cannot run {}: {}", path, std::strerror(error)));
  write_end = FileDescriptor(-1);
  constexpr std::size_t kMost = std::size_t{1} << 20;
  ProcessResult result;
  char piece[4096];
  while (true) {
    const auto rest = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd ready{read_end.number(), POLLIN, 0};
    const int polled = poll(&ready, 1, static_cast<int>(std::clamp<std::int64_t>(rest, 0, 1'000'000)));
    if (polled < 0 && errno == EINTR) continue;
    if (polled == 0 && rest <= 0) {
      result.is_late = true;
      kill(-child, SIGKILL);
      break;
    }
    if (polled == 0) continue;
    const ssize_t n = read(read_end.number(), piece, sizeof piece);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    result.output.append(piece, std::min(static_cast<std::size_t>(n), kMost - result.output.size()));
  }
  int status = 0;
  // The program may have closed its output and kept running.
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (!result.is_late && Clock::now() >= deadline) {
      result.is_late = true;
      kill(-child, SIGKILL);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  constexpr int kSignals = 256;
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : kSignals + WTERMSIG(status);
  return result;
}

}  // namespace tern
