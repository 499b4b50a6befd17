// An H100 in cuDNN's description format: cuDNN plans without a device.
#pragma once

#include "devices/gpu/cuda/cudnn_api.h"

namespace tern::gpu {

// Properties required by cuDNN 9.8 and later, and memoryBusWidth by 9.28; the values belong to an H100 SXM.
inline constexpr char kH100[] = R"({"deviceVer": 900, "maxGridSize": [2147483647, 65535, 65535],
  "maxBlockSize": [1024, 1024, 64], "regsPerBlock": 65536, "multiProcessorCount": 132, "warpSize": 32,
  "maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": 232448, "reservedSharedMemoryPerBlock": 1024,
  "maxRegistersPerSM": 65536, "maxCtasPerSM": 32, "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048,
  "pciDeviceId": 0, "isTccDriver": 0, "supportCoopLaunch": 1, "totalGlobalMem": 85899345920,
  "smClockRateKHz": 1980000, "memClockRateKHz": 2619000, "memoryBusWidth": 5120, "l2CacheSize": 52428800,
  "cudaDeviceId": 0, "driverVer": 13000, "deviceName": "NVIDIA H100 80GB HBM3"})";

/// A descriptor owned by the caller; null if cuDNN refuses the description.
inline CudnnDescriptor described_h100(const CudnnApi& api) {
  constexpr int kDeviceKind = 38, kDeviceJson = 2702, kTypeChar = 24;  // cudnn_graph.h
  CudnnDescriptor device = nullptr;
  if (api.descriptor_create(kDeviceKind, &device) != kSuccess) return nullptr;
  if (api.set(device, kDeviceJson, kTypeChar, sizeof kH100, kH100) == kSuccess && api.finalize(device) == kSuccess)
    return device;
  api.descriptor_destroy(device);
  return nullptr;
}

}  // namespace tern::gpu
