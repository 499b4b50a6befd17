// Compiles if the declarations of devices/gpu equal AMD's installed headers.
#define __HIP_PLATFORM_AMD__ 1
#define __HIP_DISABLE_CPP_FUNCTIONS__ 1  // templates of the same names
#include <hip/hip_runtime_api.h>
#include <hip/hiprtc.h>

#include "devices/gpu/api.h"
#include "devices/gpu/hip/capture_api.h"
#include "devices/gpu/hip/graph_update.h"
#include "devices/gpu/hip/masked_stream.h"
#include "tests/gpu/prototypes/same_call.h"

namespace tern::testing {

#define SAME_CALL(name, cuda, hip, parameters) \
  static_assert(same_call<decltype(gpu::Api::name), decltype(&::hip)>, #hip);
TERN_GPU_FUNCTIONS(SAME_CALL)
TERN_GPU_OPTIONAL_FUNCTIONS(SAME_CALL)
#undef SAME_CALL
#define SAME_CALL(name, cuda, hip, parameters) \
  static_assert(same_call<decltype(gpu::CompilerApi::name), decltype(&::hiprtc##hip)>, #hip);
TERN_GPU_COMPILER_FUNCTIONS(SAME_CALL)
#undef SAME_CALL

#define SAME_CALL(name, symbol, parameters) \
  static_assert(same_call<decltype(gpu::CaptureApi::name), decltype(&::symbol)>, #symbol);
TERN_GPU_CAPTURE(SAME_CALL)
#undef SAME_CALL
static_assert(gpu::kReplaceDependencies == hipStreamSetCaptureDependencies);

static_assert(gpu::names::kPeerAlreadyEnabled == hipErrorPeerAccessAlreadyEnabled);
static_assert(same_call<gpu::GraphExecUpdate*, decltype(&::hipGraphExecUpdate)>);
static_assert(gpu::names::kNotSupported == hipErrorNotSupported);
static_assert(same_call<gpu::MaskedStreamCreate, decltype(&::hipExtStreamCreateWithCUMask)>);

#if HIP_VERSION_MAJOR >= 6  // The struct differed before; the plugin maps memory from ROCm 7.2 on.
static_assert(offsetof(gpu::MemoryProperties, location) == offsetof(hipMemAllocationProp, location));
static_assert(sizeof(gpu::MemoryProperties) >= sizeof(hipMemAllocationProp));
#endif
static_assert(gpu::MemoryProperties{}.type == hipMemAllocationTypePinned);
static_assert(gpu::MemoryLocation{}.type == hipMemLocationTypeDevice);
static_assert(sizeof(gpu::MemoryAccess) == sizeof(hipMemAccessDesc));
static_assert(gpu::MemoryAccess{}.flags == hipMemAccessFlagsProtReadWrite);
static_assert(gpu::kSuccess == hipSuccess && gpu::kOutOfMemory == hipErrorOutOfMemory);
static_assert(gpu::kNoDevice == hipErrorNoDevice && gpu::names::kNotReady == hipErrorNotReady);
static_assert(gpu::kNonBlocking == hipStreamNonBlocking && gpu::kRelaxed == hipStreamCaptureModeRelaxed);
static_assert(gpu::names::kUnits == hipDeviceAttributeMultiprocessorCount);
static_assert(gpu::names::kLocalBytes == hipDeviceAttributeMaxSharedMemoryPerBlock);
static_assert(gpu::names::kMaxThreads == HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);

}  // namespace tern::testing
