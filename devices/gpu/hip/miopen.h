// MIOpen, found when the first convolution asks for it.
#pragma once

#include <tern/device.h>

#include <mutex>
#include <string>

#include "devices/gpu/devices.h"
#include "devices/gpu/hip/miopen_api.h"

namespace tern::gpu {

/// The library on one device. It lives as long as the process.
struct Miopen {
  MiopenApi api;
  MiopenHandle handle = nullptr;
  std::string version;  ///< "3.2.0"
  std::string why;      ///< it cannot be used; empty if it can
  std::mutex lock;      ///< of calls with the handle
};

/// The device is current. Tries once for each device.
Miopen& miopen_of(const GpuDevice& d);

/// Success, or a status with a message of the call and the library's number of the error.
tern_device_status miopen_checked(int error, const char* call);

}  // namespace tern::gpu
