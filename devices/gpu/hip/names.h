// ROCm's names for the sources of devices/gpu.
#pragma once

#include <tern/device.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "platform/environment.h"

#define TERN_GPU_SYMBOL(cuda, hip) #hip
#define TERN_GPU_COMPILER_SYMBOL(cuda, hip) "hiprtc" #hip

namespace tern::gpu::names {

constexpr const char* kPlugin = "rocm";
constexpr int kDialect = TERN_DIALECT_HIP;
constexpr const char* kDriver = "the HIP runtime";
constexpr const char* kDriverLibraries[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
                                            "libamdhip64.so", "/opt/rocm/lib/libamdhip64.so"};
constexpr const char* kDriverHint = "install ROCm";
constexpr const char* kCompiler = "hiprtc";
constexpr const char* kCompilerVariable = "TERN_HIPRTC";
// Before ROCm 5.3, the runtime library contains hiprtc's functions.
constexpr const char* kCompilerLibraries[] = {
    "libhiprtc.so.7",  "libhiprtc.so.6", "libhiprtc.so.5", "libhiprtc.so", "/opt/rocm/lib/libhiprtc.so",
    "libamdhip64.so.5"};
using Peer = int;  // functions of peer memory take device numbers
constexpr unsigned kWarp = 64;
// hipModuleLaunchKernel: "HIP does not support kernel launch with total work items defined in dimension with size
// gridDim x blockDim >= 2^32".
constexpr bool kSplitsLaunches = true;
/// TERN_ROCM_LAUNCH_ITEMS names a smaller limit, for tests.
inline std::uint64_t max_blocks(unsigned block_threads) {
  static constexpr std::uint64_t kMost = 0xffffffff;
  static const std::uint64_t limit = [] {
    const std::string text = platform::trusted_variable("TERN_ROCM_LAUNCH_ITEMS").value_or("");
    const std::uint64_t wanted = std::strtoull(text.c_str(), nullptr, 10);
    return wanted == 0 ? kMost : std::min(wanted, kMost);
  }();
  return std::max<std::uint64_t>(limit / block_threads, 1);
}
constexpr bool kHasJitLog = false;
// HIP's documentation says nothing about graphs that are running.
constexpr bool kUpdatesRunningGraphs = false;
// hipDeviceAttribute_t
constexpr int kUnits = 63;       // hipDeviceAttributeMultiprocessorCount
constexpr int kLocalBytes = 74;  // hipDeviceAttributeMaxSharedMemoryPerBlock
// hipError_t and hipFunction_attribute
constexpr int kNotReady = 600;
constexpr int kPeerAlreadyEnabled = 704;  // hipErrorPeerAccessAlreadyEnabled
constexpr int kNotSupported = 801;        // hipErrorNotSupported
constexpr int kMaxThreads = 0;            // HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK

}  // namespace tern::gpu::names
