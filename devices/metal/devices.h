// Usable GPUs of this machine: Metal 3 or 4 with unified memory, as in every Mac with Apple silicon.
#pragma once

#include <tern/device.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "devices/metal/metal_cpp.h"

namespace tern::metal {

class DeviceBuffer;

struct MetalDevice {
  Owned<MTL::Device> device;
  std::string name, driver;   ///< driver: every property affecting compiled kernels
  std::uint64_t memory = 0;   ///< bytes usable by kernels at full speed
  std::uint64_t largest = 0;  ///< size of the largest buffer
  bool math_modes = false;    ///< compiles with a math mode; older systems only switch fast math on or off
  bool metal4 = false;        ///< uses Metal 4 commands
  /// Metal 4: memory accessible to kernels. Guarded by the mutex of memory.cpp.
  Owned<MTL::ResidencySet> residency;
  std::shared_ptr<DeviceBuffer> nothing;  ///< buffer for absent operands: each argument needs a buffer
};

/// Finds the devices at the first call. `why_none` receives the reason for an empty list.
const std::vector<MetalDevice>& devices(std::string* why_none = nullptr);
/// Returns the device of the index; null after a failure.
const MetalDevice* find(std::int32_t device);

}  // namespace tern::metal
