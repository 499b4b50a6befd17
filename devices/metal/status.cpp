#include "devices/metal/status.h"

#include <utility>

namespace tern::metal {

std::string& message() {
  thread_local std::string text;
  return text;
}

tern_device_status failed(tern_device_status status, std::string text) {
  message() = std::move(text);
  return status;
}

}  // namespace tern::metal
