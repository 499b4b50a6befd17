// The devices of the vendor that the driver lists.
#pragma once

#include <tern/device.h>

#include <cstdint>
#include <string>
#include <vector>

#include "devices/gpu/api.h"

namespace tern::gpu {

struct GpuDevice {
  int id = 0;                 ///< the driver's handle of it
  Context context = nullptr;  ///< CUDA's primary context
  std::string name, arch;     ///< "NVIDIA H100", "sm_90"; "AMD Instinct MI300X", "gfx942"
  std::string driver;         ///< its version
  int driver_number = 0;
  std::uint64_t memory = 0;
  std::uint32_t units = 0, local_bytes = 0;
  std::uint64_t piece = 0;  ///< of memory that is mapped; 0: the driver maps none
};

/// Empty if the driver is missing or lists none; `why` says which.
const std::vector<GpuDevice>& devices(std::string* why);

/// The device, now current on this thread; null with a message if the index is wrong or the driver refuses.
const GpuDevice* enter(std::int32_t device);

}  // namespace tern::gpu

// The first line of every function of a device, but for those that end something: they go on where the device cannot be
// made current, since the driver needs only the handle, and nobody could end it later.
#define TERN_GPU_ENTER(device)                           \
  const GpuDevice* const d = ::tern::gpu::enter(device); \
  if (d == nullptr) return TERN_DEVICE_INVALID
