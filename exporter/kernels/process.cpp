#include "exporter/kernels/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <tern/error.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

extern char** environ;

namespace tern {
namespace {

/// A descriptor that is closed with it.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }
  void close() {
    if (number_ >= 0) ::close(number_);
    number_ = -1;
  }

 private:
  int number_;
};

struct Actions {
  Actions() { posix_spawn_file_actions_init(&list); }
  ~Actions() { posix_spawn_file_actions_destroy(&list); }
  Actions(const Actions&) = delete;
  Actions& operator=(const Actions&) = delete;
  posix_spawn_file_actions_t list{};
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

ProcessResult run_program(const std::string& path, const std::vector<std::string>& arguments) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) fail(ErrorCode::io, fmt::format("no pipe: {}", std::strerror(errno)));
  Descriptor read_end(ends[0]), write_end(ends[1]);
  Actions actions;
  posix_spawn_file_actions_addopen(&actions.list, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions.list, write_end.number(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions.list, write_end.number(), STDERR_FILENO);
  std::vector<std::string> words = {path};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& w : words) argv.push_back(w.data());
  argv.push_back(nullptr);
  pid_t child = 0;
  if (const int error = posix_spawn(&child, path.c_str(), &actions.list, nullptr, argv.data(), environ); error != 0)
    fail(ErrorCode::io, fmt::format("{} cannot be run: {}", path, std::strerror(error)));
  write_end.close();
  constexpr std::size_t kMost = std::size_t{1} << 20;
  ProcessResult result;
  char piece[4096];
  for (ssize_t n = 0; (n = read(read_end.number(), piece, sizeof piece)) != 0;) {
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) break;
    result.output.append(piece, std::min(static_cast<std::size_t>(n), kMost - result.output.size()));
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  constexpr int kSignals = 256;
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : kSignals + WTERMSIG(status);
  return result;
}

}  // namespace tern
