// Copies of bytes not supported by Metal's own copies: macOS copies whole words only.
#pragma once

#include "devices/metal/commands.h"

namespace tern::metal {

/// Compiles the kernel on the first call for a device.
tern_device_status launch_copy(const MetalDevice& device, Commands& commands, const BufferRange& to,
                               const BufferRange& from, std::uint64_t bytes);

}  // namespace tern::metal
