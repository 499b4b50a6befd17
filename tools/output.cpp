#include "tools/output.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "tools/exit_codes.h"

namespace tern {
namespace {

thread_local OutputText* taker = nullptr;

void print_to(std::FILE* file, std::string_view text) {
  if (taker != nullptr) {
    taker->text += text;
  } else {
    fmt::print(file, "{}", text);  // throws on stdio errors
  }
}

}  // namespace

void print_output(std::string_view text) {
  print_to(stdout, text);
}

void print_problem(std::string_view text) {
  print_to(stderr, text);
}

OutputText::OutputText() : outer_(taker) {
  taker = this;
}

OutputText::~OutputText() {
  taker = outer_;
}

bool output_is_taken() {
  return taker != nullptr;
}

void keep_write_errors() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

bool output_failed() {
  return std::ferror(stdout) != 0;
}

bool reader_has_gone() {
  pollfd output{STDOUT_FILENO, POLLOUT, 0};
  return ::poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0;
}

int end_without_reader() {
  std::signal(SIGPIPE, SIG_DFL);
  std::raise(SIGPIPE);
  return kExitReaderGone;
}

std::string finish_output() {
  const bool failed_before = output_failed();
  errno = 0;
  const bool flushed = std::fflush(stdout) == 0;
  int reason = errno;
  // Closing a copy of the descriptor reports failed writes of a network file system.
  const int copy = flushed ? ::dup(STDOUT_FILENO) : -1;
  if (copy >= 0 && ::close(copy) != 0) reason = errno;
  if (!failed_before && flushed && reason == 0) return {};
  // No loss: nothing was printed and standard output is closed.
  if (!failed_before && flushed && reason == EBADF) return {};
  return std::string("cannot write to standard output: ") + (reason == 0 ? "a write failed" : std::strerror(reason));
}

}  // namespace tern
