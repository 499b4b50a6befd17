// Failures in the interface's form: a status, and the message of the thread's last failure.
#pragma once

#include <tern/device.h>

#include <string>

namespace tern::gpu {

/// This thread's message for last_message.
std::string& message();

tern_device_status failed(tern_device_status status, std::string text);

/// Returns TERN_DEVICE_OK for success; else the corresponding status, with a message of the call and the driver's error
/// name.
tern_device_status checked(int error, const char* call);

}  // namespace tern::gpu

// Returns from the function if a driver call fails.
#define TERN_GPU_TRY(call)                                                                    \
  do {                                                                                        \
    if (const tern_device_status status_ = (call); status_ != TERN_DEVICE_OK) return status_; \
  } while (false)
