// cuDNN, loaded on first use.
#pragma once

#include <tern/device.h>

#include <mutex>
#include <string>

#include "devices/gpu/cuda/cudnn_engines.h"
#include "devices/gpu/devices.h"

namespace tern::gpu {

/// The library on one device. Never unloaded.
struct Cudnn {
  CudnnApi api;
  CudnnHandle handle = nullptr;
  std::size_t number = 0;  ///< 91900
  std::string version;     ///< "9.19.0"
  std::string why;         ///< reason for being unusable; empty if usable
  std::mutex lock;         ///< guards calls with the handle

  std::string plan_key;  ///< CudnnTarget::plan_key

  [[nodiscard]] CudnnTarget target() const { return {handle, nullptr, plan_key}; }

  /// False before 9.10.2: engines of 9.10.0 and 9.10.1 are wrong, earlier engines support neither masks for a single
  /// query nor wide heads. NVIDIA's cudnn-frontend 1.32 excludes them, too.
  [[nodiscard]] bool has_attention() const { return number >= 91002; }
};

/// Loads the library once per device. The device is current.
Cudnn& cudnn_of(const GpuDevice& d);

/// Fails with "a convolution: cuDNN error 2000" unless `error` is success.
tern_device_status checked_cudnn(Status error, const char* call);

}  // namespace tern::gpu
