// The GPUs of this machine that Tern can use: those of Metal 3 or 4 whose memory is the host's, as in every Mac with
// Apple silicon.
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
  std::string name, driver;   ///< driver: everything that decides what a compiled kernel is
  std::uint64_t memory = 0;   ///< bytes that kernels may use together without loss of speed
  std::uint64_t largest = 0;  ///< bytes of the largest buffer
  bool math_modes = false;    ///< compiles with a math mode; older systems know only fast math and its absence
  bool metal4 = false;        ///< commands are those of Metal 4
  /// Metal 4: what kernels may use. Guarded by the mutex of memory.cpp.
  Owned<MTL::ResidencySet> residency;
  std::shared_ptr<DeviceBuffer> nothing;  ///< stands for absent operands: each argument needs a buffer
};

/// Found at the first call. `why_none` says what is wrong where there are none.
const std::vector<MetalDevice>& devices(std::string* why_none = nullptr);
/// That of the index, or null, after failing.
const MetalDevice* find(std::int32_t device);

}  // namespace tern::metal
