#include "platform/console.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace tern::platform {

void prepare_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) == -1 && errno == EBADF) ::open("/dev/null", O_RDONLY);
  }
}

std::vector<std::string> command_arguments(int argc, char** argv) {
  return {argv, argv + argc};
}

bool is_console(int stream) {
  return ::isatty(stream) == 1;
}

std::size_t console_columns(int stream) {
  winsize size{};
  return ::ioctl(stream, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

std::int64_t read_input(std::span<std::byte> bytes) {
  ssize_t count = 0;
  do {
    count = ::read(STDIN_FILENO, bytes.data(), bytes.size());
  } while (count < 0 && errno == EINTR);
  return count;
}

bool wait_for_input() {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  return ::poll(&input, 1, -1) >= 0 || errno != EINTR;
}

bool write_stream(int stream, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(stream, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return true;
}

void ignore_write_signals() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

bool is_broken_pipe(int error) {
  return error == EPIPE;
}

bool reader_has_gone() {
  pollfd output{STDOUT_FILENO, POLLOUT, 0};
  return ::poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0;
}

void end_as_broken_pipe() {
  std::signal(SIGPIPE, SIG_DFL);
  std::raise(SIGPIPE);
}

int lost_output(bool* is_closed) {
  // Closing a copy of the descriptor reports failed writes of a network file system.
  const int copy = ::dup(STDOUT_FILENO);
  *is_closed = copy < 0 && errno == EBADF;
  return copy >= 0 && ::close(copy) != 0 ? errno : 0;
}

}  // namespace tern::platform
