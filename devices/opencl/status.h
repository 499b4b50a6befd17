// Failures in the interface's form: a status, and the message of the thread's last failure.
#pragma once

#include <CL/cl.h>
#include <tern/device.h>

#include <string>

namespace tern::opencl {

/// This thread's message for last_message.
std::string& message();

inline tern_device_status failed(tern_device_status status, std::string text) {
  message() = std::move(text);
  return status;
}

/// Returns TERN_DEVICE_OK for CL_SUCCESS; else the corresponding status, with a message of the action and OpenCL's
/// error name.
tern_device_status checked(cl_int error, const char* what);

}  // namespace tern::opencl
