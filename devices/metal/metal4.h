// Metal 4 (macOS 26 or later), if supported by this build's metal-cpp.
#pragma once

#include <memory>

#include "devices/metal/commands.h"

namespace tern::metal {

bool has_metal4(MTL::Device& device);
/// Returns null if the device has no more.
Owned<MTL::ResidencySet> new_residency(MTL::Device& device);
/// Like metal3_commands.
std::unique_ptr<Commands> metal4_commands(const MetalDevice& device);

}  // namespace tern::metal
