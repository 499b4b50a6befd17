#include "devices/gpu/status.h"

#include "devices/gpu/library.h"

namespace tern::gpu {

std::string& message() {
  thread_local std::string text;
  return text;
}

tern_device_status failed(tern_device_status status, std::string text) {
  message() = std::move(text);
  return status;
}

tern_device_status checked(int error, const char* call) {
  if (error == kSuccess) return TERN_DEVICE_OK;
  return failed(error == kOutOfMemory ? TERN_DEVICE_OUT_OF_MEMORY : TERN_DEVICE_FAILED,
                std::string(call) + ": " + error_text(error));
}

}  // namespace tern::gpu
