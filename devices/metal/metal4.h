// Metal 4, from macOS 26 on, if this build's metal-cpp has it.
#pragma once

#include <memory>

#include "devices/metal/commands.h"

namespace tern::metal {

bool has_metal4(MTL::Device& device);
/// Null where the device has no more.
Owned<MTL::ResidencySet> new_residency(MTL::Device& device);
/// As metal3_commands.
std::unique_ptr<Commands> metal4_commands(const MetalDevice& device);

}  // namespace tern::metal
