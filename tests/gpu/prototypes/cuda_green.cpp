// Compiles if the declarations of green contexts in devices/gpu/cuda equal cuda.h's.
#include <cuda.h>

#include "devices/gpu/cuda/green_api.h"
#include "tests/gpu/prototypes/same_call.h"

namespace tern::testing {

#define SAME_CALL(name, symbol, parameters) \
  static_assert(same_call<decltype(gpu::GreenApi::name), decltype(&::symbol)>, "the parameters of " #symbol);
TERN_GPU_GREEN(SAME_CALL)
#undef SAME_CALL

using Theirs = CUdevResource;
using Ours = gpu::Resource;
static_assert(sizeof(Ours) == sizeof(Theirs) && offsetof(Ours, multiprocessors) == offsetof(Theirs, sm));
static_assert(offsetof(CUdevSmResource, smCount) == 0);
static_assert(static_cast<int>(gpu::ResourceType::multiprocessors) == CU_DEV_RESOURCE_TYPE_SM);
static_assert(gpu::kGreenDefaultStream == CU_GREEN_CTX_DEFAULT_STREAM);
#if CUDA_VERSION >= 13010
static_assert(offsetof(Ours, queues) == offsetof(Theirs, wqConfig));
static_assert(offsetof(CUdevWorkqueueConfigResource, wqConcurrencyLimit) == 4);
static_assert(offsetof(CUdevWorkqueueConfigResource, sharingScope) == 8);
static_assert(static_cast<int>(gpu::ResourceType::queues) == CU_DEV_RESOURCE_TYPE_WORKQUEUE_CONFIG);
static_assert(gpu::kBalancedQueues == CU_WORKQUEUE_SCOPE_GREEN_CTX_BALANCED);
#endif

}  // namespace tern::testing
