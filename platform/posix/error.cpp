#include "platform/error.h"

#include <cerrno>
#include <cstring>

namespace tern::platform {

int last_error() {
  return errno;
}

std::string error_text(int error) {
  return std::strerror(error);
}

bool is_missing(int error) {
  return error == ENOENT;
}

bool is_existing(int error) {
  return error == EEXIST;
}

bool is_symbolic_link(int error) {
  return error == ELOOP;
}

}  // namespace tern::platform
