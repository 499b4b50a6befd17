#include "tools/output.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "platform/console.h"
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

OutputText::OutputText() : outer_output_(taker) {
  taker = this;
}

OutputText::~OutputText() {
  taker = outer_output_;
}

bool output_is_taken() {
  return taker != nullptr;
}

bool output_failed() {
  return std::ferror(stdout) != 0;
}

int end_without_reader() {
  platform::end_as_broken_pipe();
  return kExitReaderGone;
}

std::string finish_output() {
  const bool failed_before = output_failed();
  errno = 0;
  const bool flushed = std::fflush(stdout) == 0;
  int reason = errno;
  bool is_closed = false;
  if (const int lost = flushed ? platform::lost_output(&is_closed) : 0; lost != 0) reason = lost;
  // No loss, too, if nothing was printed and standard output is closed.
  if (!failed_before && flushed && (reason == 0 || is_closed)) return {};
  return std::string("cannot write to standard output: ") + (reason == 0 ? "a write failed" : std::strerror(reason));
}

}  // namespace tern
