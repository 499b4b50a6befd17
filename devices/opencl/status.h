// Failures as the interface reports them: a status, and a message for the thread's last one.
#pragma once

#include <CL/cl.h>
#include <tern/device.h>

#include <string>

namespace tern::opencl {

/// The message that last_message gives on this thread.
std::string& message();

inline tern_device_status failed(tern_device_status status, std::string text) {
  message() = std::move(text);
  return status;
}

/// TERN_DEVICE_OK for CL_SUCCESS; else the status that corresponds, with a message of what was done and OpenCL's name
/// of the error.
tern_device_status checked(cl_int error, const char* what);

}  // namespace tern::opencl
