#include "platform/isolated.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "platform/error.h"
#include "platform/posix/pipe.h"

namespace tern::platform {
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

IsolatedResult run_isolated(std::chrono::milliseconds limit, const std::function<std::string()>& work,
                            const std::vector<std::string>& /*again*/) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  int ends[2];
  std::fflush(nullptr);
  IsolatedResult result;
  if (!make_pipe(ends)) {
    result.problem = "cannot create a pipe: " + error_text(errno);
    return result;
  }
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    be_child(ends[1], work);
  }
  ::close(ends[1]);
  if (child < 0) {
    ::close(ends[0]);
    result.problem = "cannot start a process: " + error_text(errno);
    return result;
  }
  if (!read_pipe(ends[0], deadline, [&](std::string_view piece) { result.text += piece; })) {
    ::kill(child, SIGKILL);
    result.problem = "it did not finish within " +
                     std::to_string(std::chrono::duration_cast<std::chrono::seconds>(limit).count()) + " s";
  }
  ::close(ends[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (result.problem.empty() && WIFSIGNALED(status))
    result.problem = std::string("it crashed (") + ::strsignal(WTERMSIG(status)) + ")";
  if (result.problem.empty() && WEXITSTATUS(status) != 0)
    result.problem = "it ended the process with status " + std::to_string(WEXITSTATUS(status));
  return result;
}

void write_isolated(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
}

}  // namespace tern::platform
