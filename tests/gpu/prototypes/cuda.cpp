// Compiles if the declarations of devices/gpu equal NVIDIA's headers, cuda.h and nvrtc.h.
#include <cuda.h>
#include <nvrtc.h>

#include "devices/gpu/api.h"
#include "devices/gpu/cuda/graph_update.h"
#include "tests/gpu/prototypes/same_call.h"

namespace tern::testing {

#define SAME_CALL(name, cuda, hip, parameters) \
  static_assert(same_call<decltype(gpu::Api::name), decltype(&::cuda)>, "the parameters of " #cuda);
TERN_GPU_FUNCTIONS(SAME_CALL)
TERN_GPU_OPTIONAL_FUNCTIONS(SAME_CALL)
#undef SAME_CALL
#define SAME_CALL(name, cuda, hip, parameters)                                         \
  static_assert(same_call<decltype(gpu::CompilerApi::name), decltype(&::nvrtc##cuda)>, \
                "the parameters of "                                                   \
                "nvrtc" #cuda);
TERN_GPU_COMPILER_FUNCTIONS(SAME_CALL)
#undef SAME_CALL

static_assert(gpu::names::kPeerAlreadyEnabled == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
static_assert(same_call<gpu::GraphExecUpdate*, decltype(&::cuGraphExecUpdate)>);
static_assert(sizeof(gpu::GraphUpdateResult) == sizeof(CUgraphExecUpdateResultInfo));
static_assert(offsetof(gpu::GraphUpdateResult, node) == offsetof(CUgraphExecUpdateResultInfo, errorNode));
static_assert(gpu::names::kNotSupported == CUDA_ERROR_NOT_SUPPORTED);
static_assert(sizeof(gpu::MemoryProperties) == sizeof(CUmemAllocationProp));
static_assert(offsetof(gpu::MemoryProperties, location) == offsetof(CUmemAllocationProp, location));
static_assert(offsetof(gpu::MemoryProperties, flags) == offsetof(CUmemAllocationProp, allocFlags));
static_assert(gpu::MemoryProperties{}.type == CU_MEM_ALLOCATION_TYPE_PINNED);
static_assert(gpu::MemoryLocation{}.type == CU_MEM_LOCATION_TYPE_DEVICE);
static_assert(sizeof(gpu::MemoryAccess) == sizeof(CUmemAccessDesc));
static_assert(gpu::MemoryAccess{}.flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
static_assert(gpu::kSuccess == CUDA_SUCCESS && gpu::kOutOfMemory == CUDA_ERROR_OUT_OF_MEMORY);
static_assert(gpu::kNoDevice == CUDA_ERROR_NO_DEVICE && gpu::names::kNotReady == CUDA_ERROR_NOT_READY);
static_assert(gpu::kNonBlocking == CU_STREAM_NON_BLOCKING && gpu::kRelaxed == CU_STREAM_CAPTURE_MODE_RELAXED);
static_assert(gpu::names::kUnits == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
static_assert(gpu::names::kLocalBytes == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
static_assert(gpu::names::kMaxThreads == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);

}  // namespace tern::testing
