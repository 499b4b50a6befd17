// Small numbers of devices, for tensors: 0 is the CPU.
#pragma once

#include <cstdint>

namespace tern {

class Device;

/// Constant for a device. Thread-safe.
std::uint16_t number_of(Device& device);
Device& numbered_device(std::uint16_t number);

}  // namespace tern
