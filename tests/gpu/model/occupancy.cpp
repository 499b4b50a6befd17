#include <cuda_occupancy.h>

#include "tests/gpu/model/resources.h"

namespace tern::gpu_model {
namespace {

// CUDA C++ Programming Guide, "Technical Specifications per Compute Capability", of 9.0.
cudaOccDeviceProp h100() {
  cudaOccDeviceProp p;
  p.computeMajor = 9;
  p.computeMinor = 0;
  p.maxThreadsPerBlock = 1024;
  p.maxThreadsPerMultiprocessor = 2048;
  p.regsPerBlock = 65536;
  p.regsPerMultiprocessor = 65536;
  p.warpSize = 32;
  p.sharedMemPerBlock = 48 << 10;
  p.sharedMemPerMultiprocessor = 228 << 10;
  p.sharedMemPerBlockOptin = 227 << 10;
  p.reservedSharedMemPerBlock = 1 << 10;
  p.numSms = 132;
  return p;
}

}  // namespace

double occupancy(const Resources& resources, std::uint32_t threads, std::uint32_t static_bytes,
                 std::uint32_t dynamic_bytes) {
  const cudaOccDeviceProp device = h100();
  cudaOccFuncAttributes function{};
  function.maxThreadsPerBlock = device.maxThreadsPerBlock;
  function.numRegs = static_cast<int>(resources.registers);
  function.sharedSizeBytes = static_bytes;
  function.partitionedGCConfig = PARTITIONED_GC_OFF;
  function.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
  function.maxDynamicSharedSizeBytes = dynamic_bytes;
  const cudaOccDeviceState state;
  cudaOccResult result;
  if (cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &function, &state, static_cast<int>(threads),
                                              dynamic_bytes) != CUDA_OCC_SUCCESS) {
    return 0;
  }
  const std::uint32_t warps = (threads + 31) / 32;
  return static_cast<double>(result.activeBlocksPerMultiprocessor) * warps / 64;
}

}  // namespace tern::gpu_model
