// MIOpen, loaded on first use.
#pragma once

#include <tern/device.h>

#include <mutex>
#include <string>

#include "devices/gpu/devices.h"
#include "devices/gpu/hip/miopen_api.h"

namespace tern::gpu {

/// The library on one device. Never unloaded.
struct Miopen {
  MiopenApi api;
  MiopenHandle handle = nullptr;
  std::string version;  ///< "3.2.0"
  std::string why;      ///< reason for being unusable; empty if usable
  std::mutex lock;      ///< guards calls with the handle
};

/// Loads the library once per device. The device is current.
Miopen& miopen_of(const GpuDevice& d);

/// Returns success, or a status with a message naming the call and the library's error number.
tern_device_status miopen_checked(int error, const char* call);

}  // namespace tern::gpu
