// Failures as the interface reports them: a status, and a message for the thread's last one.
#pragma once

#include <tern/device.h>

#include <string>

namespace tern::gpu {

/// The message that last_message gives on this thread.
std::string& message();

tern_device_status failed(tern_device_status status, std::string text);

/// TERN_DEVICE_OK for success; else the status that corresponds, with a message of the call and the driver's name of
/// the error.
tern_device_status checked(int error, const char* call);

}  // namespace tern::gpu

// Returns from the function where a call of the driver fails.
#define TERN_GPU_TRY(call)                                                                    \
  do {                                                                                        \
    if (const tern_device_status status_ = (call); status_ != TERN_DEVICE_OK) return status_; \
  } while (false)
