#include "tools/isolated.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <tern/error.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string_view>

namespace tern {
namespace {

[[noreturn]] void be_child(int fd, const std::function<std::string()>& work) {
  const std::string text = work();
  for (std::string_view rest = text; !rest.empty();) {
    const ssize_t n = ::write(fd, rest.data(), rest.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    rest.remove_prefix(static_cast<std::size_t>(n));
  }
  ::_exit(0);  // skips destructors of drivers
}

}  // namespace

IsolatedResult run_isolated(std::chrono::milliseconds limit, const std::function<std::string()>& work) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + limit;
  int ends[2];
  std::fflush(nullptr);
  if (::pipe2(ends, O_CLOEXEC) != 0) fail(ErrorCode::io, fmt::format("cannot create a pipe: {}", std::strerror(errno)));
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    be_child(ends[1], work);
  }
  ::close(ends[1]);
  if (child < 0) {
    ::close(ends[0]);
    fail(ErrorCode::io, fmt::format("cannot start a process: {}", std::strerror(errno)));
  }
  IsolatedResult result;
  char piece[4096];
  while (true) {
    const auto rest = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd ready{ends[0], POLLIN, 0};
    const int polled = ::poll(&ready, 1, static_cast<int>(std::clamp<std::int64_t>(rest, 0, 1'000'000)));
    if (polled < 0 && errno == EINTR) continue;
    if (polled == 0 && rest > 0) continue;
    if (polled == 0) {
      ::kill(child, SIGKILL);
      result.problem =
          fmt::format("it did not finish within {} s", std::chrono::duration_cast<std::chrono::seconds>(limit).count());
      break;
    }
    const ssize_t n = ::read(ends[0], piece, sizeof piece);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    result.text.append(piece, static_cast<std::size_t>(n));
  }
  ::close(ends[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (result.problem.empty() && WIFSIGNALED(status))
    result.problem = fmt::format("it crashed ({})", ::strsignal(WTERMSIG(status)));
  if (result.problem.empty() && WEXITSTATUS(status) != 0)
    result.problem = fmt::format("it ended the process with status {}", WEXITSTATUS(status));
  return result;
}

}  // namespace tern
