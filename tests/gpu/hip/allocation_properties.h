#pragma once

#include <hip/hip_runtime_api.h>

namespace tern::gpu::hip {

/// hipMemAllocationProp from ROCm 6 on; the headers of ROCm 5 order other members differently.
struct AllocationProperties {
  hipMemAllocationType type;
  hipMemAllocationHandleType handle_types;
  hipMemLocation location;
  void* windows;
  unsigned char compression, rdma;
  unsigned short usage;
};

}  // namespace tern::gpu::hip
