// The vendor's devices, as listed by the driver.
#pragma once

#include <tern/device.h>

#include <cstdint>
#include <string>
#include <vector>

#include "devices/gpu/api.h"

namespace tern::gpu {

struct GpuDevice {
  int id = 0;                 ///< driver's device handle
  Context context = nullptr;  ///< CUDA's primary context
  std::string name, arch;     ///< "NVIDIA H100", "sm_90"; "AMD Instinct MI300X", "gfx942"
  std::string driver;         ///< driver version
  int driver_number = 0;
  std::uint64_t memory = 0;
  std::uint32_t units = 0, local_bytes = 0;
  std::uint64_t piece = 0;  ///< granularity of mapped memory; 0: mapping unsupported
};

/// Empty if the driver is missing or lists no devices; `why` receives the reason.
const std::vector<GpuDevice>& devices(std::string* why);

/// Makes the device current on this thread and returns it; null with a message if the index is wrong or the driver
/// refuses.
const GpuDevice* enter(std::int32_t device);

}  // namespace tern::gpu

// First line of every device function except destroying functions. Destroying functions continue even if the device
// cannot be made current: the driver needs only the handle, and no later call could destroy the object.
#define TERN_GPU_ENTER(device)                           \
  const GpuDevice* const d = ::tern::gpu::enter(device); \
  if (d == nullptr) return TERN_DEVICE_INVALID
