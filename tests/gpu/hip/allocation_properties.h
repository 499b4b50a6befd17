#pragma once

#include <hip/hip_runtime_api.h>

namespace tern::gpu::hip {

/// hipMemAllocationProp from ROCm 6 on; that of the headers of 5 has other members in another order.
struct AllocationProperties {
  hipMemAllocationType type;
  hipMemAllocationHandleType handle_types;
  hipMemLocation location;
  void* windows;
  unsigned char compression, rdma;
  unsigned short usage;
};

}  // namespace tern::gpu::hip
