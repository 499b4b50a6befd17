// Failures in the interface's form: a status, and the message of the thread's last failure.
#pragma once

#include <tern/device.h>

#include <string>

namespace tern::metal {

/// This thread's message for last_message.
std::string& message();

tern_device_status failed(tern_device_status status, std::string text);

}  // namespace tern::metal
