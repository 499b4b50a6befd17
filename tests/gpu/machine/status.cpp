#include "tests/gpu/machine/status.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace tern::emulator {

void refuse(Status status, const char* format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  throw Failure{status, text};
}

void fatal(const char* format, ...) {
  std::fputs("emulated GPU: ", stderr);
  va_list arguments;
  va_start(arguments, format);
  std::vfprintf(stderr, format, arguments);
  va_end(arguments);
  std::fputc('\n', stderr);
  std::abort();
}

bool is_mistake(Status status) {
  switch (status) {
    case Status::ok:
    case Status::out_of_memory:
    case Status::no_device:
    case Status::not_ready:
    case Status::not_found:
    case Status::not_supported:
    case Status::no_binary:
    case Status::newer_text:
    case Status::update_failure:
    case Status::peer_enabled:
    case Status::operating_system: return false;
    default: return true;
  }
}

}  // namespace tern::emulator
