// Compiles if the declarations of CUPTI in devices/gpu equal the headers of CUDA 12 and 13.
#include <cupti.h>

#include "devices/gpu/cuda/cupti_api.h"
#include "tests/gpu/prototypes/same_call.h"

namespace tern::testing {

#define SAME_CALL(name, symbol, parameters) \
  static_assert(same_call<decltype(gpu::CuptiApi::name), decltype(&::cupti##symbol)>, "the parameters of " #symbol);
TERN_GPU_CUPTI_FUNCTIONS(SAME_CALL)
#undef SAME_CALL
static_assert(same_call<gpu::CuptiCallback, CUpti_CallbackFunc>);
static_assert(same_call<gpu::CuptiBufferRequest, CUpti_BuffersCallbackRequestFunc>);
static_assert(same_call<gpu::CuptiBufferComplete, CUpti_BuffersCallbackCompleteFunc>);

static_assert(gpu::kCuptiResources == CUPTI_CB_DOMAIN_RESOURCE);
static_assert(gpu::kCuptiNodeCreated == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED);
static_assert(gpu::kCuptiNodeCloned == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED);
static_assert(offsetof(gpu::CuptiResource, descriptor) == offsetof(CUpti_ResourceData, resourceDescriptor));
static_assert(offsetof(gpu::CuptiGraphData, node) == offsetof(CUpti_GraphData, node));
static_assert(offsetof(gpu::CuptiGraphData, original_node) == offsetof(CUpti_GraphData, originalNode));
static_assert(sizeof(gpu::CuptiGraphData) == sizeof(CUpti_GraphData));

template <class Theirs>
constexpr bool is_same_record(const gpu::CuptiRecord& ours, CUpti_ActivityKind kind) {
  return ours.kind == kind && offsetof(Theirs, kind) == 0 && ours.begin == offsetof(Theirs, start) &&
         ours.end == offsetof(Theirs, end) && ours.launch == offsetof(Theirs, correlationId) &&
         ours.node == offsetof(Theirs, graphNodeId);
}
// Records of CUDA 12, and the newest in CUDA 13.
static_assert(is_same_record<CUpti_ActivityKernel9>(gpu::kCuptiRecords[0], CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
static_assert(is_same_record<CUpti_ActivityMemcpy5>(gpu::kCuptiRecords[1], CUPTI_ACTIVITY_KIND_MEMCPY));
static_assert(is_same_record<CUpti_ActivityMemset4>(gpu::kCuptiRecords[2], CUPTI_ACTIVITY_KIND_MEMSET));
#if CUPTI_API_VERSION >= 130000
static_assert(is_same_record<CUpti_ActivityKernel10>(gpu::kCuptiRecords[0], CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
static_assert(is_same_record<CUpti_ActivityMemcpy6>(gpu::kCuptiRecords[1], CUPTI_ACTIVITY_KIND_MEMCPY));
#endif

}  // namespace tern::testing
