// Small numbers of the devices in use, for tensors: 0 is the CPU.
#pragma once

#include <cstdint>

namespace tern {

class Device;

/// Always the same for a device. Any thread may call these.
std::uint16_t number_of(Device& device);
Device& numbered_device(std::uint16_t number);

}  // namespace tern
