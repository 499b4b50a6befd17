// cuDNN, found when the first convolution asks for it.
#pragma once

#include <mutex>
#include <string>

#include "devices/gpu/cuda/cudnn_api.h"
#include "devices/gpu/devices.h"

namespace tern::gpu {

/// The library on one device. It lives as long as the process.
struct Cudnn {
  CudnnApi api;
  CudnnHandle handle = nullptr;
  std::string version;  ///< "9.19.0"
  std::string why;      ///< it cannot be used; empty if it can
  std::mutex lock;      ///< of calls with the handle
};

/// The device is current. Tries once for each device.
Cudnn& cudnn_of(const GpuDevice& d);

}  // namespace tern::gpu
