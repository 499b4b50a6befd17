// Failures as the interface reports them: a status, and a message for the thread's last one.
#pragma once

#include <tern/device.h>

#include <string>

namespace tern::metal {

/// The message that last_message gives on this thread.
std::string& message();

tern_device_status failed(tern_device_status status, std::string text);

}  // namespace tern::metal
