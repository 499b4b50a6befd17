// The vendor's devices, as listed by the driver.
#pragma once

#include <tern/device.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "devices/gpu/api.h"

namespace tern::gpu {

struct GpuDevice {
  int id = 0;  ///< driver's device handle
  /// CUDA's primary context, null before the first use.
  std::shared_ptr<std::atomic<Context>> context = std::make_shared<std::atomic<Context>>(nullptr);
  std::string problem;     ///< reason for being unusable, found when the driver listed the device
  std::string name, arch;  ///< "NVIDIA H100", "sm_90"; "AMD Instinct MI300X", "gfx942"
  std::string driver;      ///< driver version
  int driver_number = 0;
  std::uint64_t memory = 0;
  std::uint32_t units = 0, local_bytes = 0;
  std::uint64_t piece = 0;  ///< granularity of mapped memory; 0: mapping unsupported
};

/// Empty if the driver is missing or lists no devices; `why` receives the reason. Creates no context: each device
/// stands for itself, and other processes may use it exclusively.
const std::vector<GpuDevice>& devices(std::string* why);

/// Returns null with a message if the index is wrong or the device has a problem.
const GpuDevice* find_device(std::int32_t device);

/// The thread's current device before a DeviceScope.
struct CallerDevice {
  bool changed = false;
  int id = 0;  ///< HIP's device; CUDA's driver stores the context
};

/// Makes a device current on this thread. The end of the scope makes the caller's device current again.
class DeviceScope {
 public:
  explicit DeviceScope(std::int32_t device);
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;
  /// Null with a message if the index is wrong or the driver refuses.
  const GpuDevice* device() const { return device_; }
  /// TERN_DEVICE_OK if `device()` is not null.
  tern_device_status status() const { return status_; }

 private:
  const GpuDevice* device_ = nullptr;
  tern_device_status status_ = TERN_DEVICE_OK;
  CallerDevice caller_;
};

}  // namespace tern::gpu

// First line of every device function except destroying functions. Destroying functions make a DeviceScope and free the
// host's part even if the device cannot be made current: no later call could.
#define TERN_GPU_ENTER(device)                    \
  const ::tern::gpu::DeviceScope d_scope(device); \
  const GpuDevice* const d = d_scope.device();    \
  if (d == nullptr) return d_scope.status()
