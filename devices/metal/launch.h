// Launches of the interface: their arguments as Metal takes them, and their limits.
#pragma once

#include <tern/device.h>

#include <cstdint>

namespace tern::metal {

tern_device_status launch(std::int32_t device, tern_device_stream stream, tern_device_kernel kernel,
                          const tern_device_launch* launch);

}  // namespace tern::metal
