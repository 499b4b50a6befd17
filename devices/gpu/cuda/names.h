// CUDA's names for the sources of devices/gpu.
#pragma once

#include <tern/device.h>

#include <cstdint>

#define TERN_GPU_SYMBOL(cuda, hip) #cuda
#define TERN_GPU_COMPILER_SYMBOL(cuda, hip) "nvrtc" #cuda

namespace tern::gpu::names {

constexpr const char* kPlugin = "cuda";
constexpr int kDialect = TERN_DIALECT_CUDA;
constexpr const char* kDriver = "the CUDA driver";
constexpr const char* kDriverLibraries[] = {"libcuda.so.1", "libcuda.so"};
constexpr const char* kDriverHint = "install NVIDIA's driver";
constexpr const char* kCompiler = "NVRTC";
constexpr const char* kCompilerVariable = "TERN_NVRTC";
constexpr const char* kCompilerLibraries[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so",
                                              "/usr/local/cuda/lib64/libnvrtc.so"};
using Peer = void*;  // functions of peer memory take contexts
constexpr unsigned kWarp = 32;
// CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X: 2^31 - 1 blocks, of any size.
constexpr bool kSplitsLaunches = false;
constexpr std::uint64_t max_blocks(unsigned) {
  return 0x7fffffff;
}
constexpr bool kHasJitLog = true;
// cuGraphExecKernelNodeSetParams: "Already enqueued or running launches of hGraphExec are not affected by this call."
constexpr bool kUpdatesRunningGraphs = true;
// CU_DEVICE_ATTRIBUTE_...
constexpr int kUnits = 16;      // MULTIPROCESSOR_COUNT
constexpr int kLocalBytes = 8;  // MAX_SHARED_MEMORY_PER_BLOCK
// CUresult and CUfunction_attribute
constexpr int kNotReady = 600;
constexpr int kPeerAlreadyEnabled = 704;  // CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED
constexpr int kNotSupported = 801;        // CUDA_ERROR_NOT_SUPPORTED
constexpr int kMaxThreads = 0;            // CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK

}  // namespace tern::gpu::names
