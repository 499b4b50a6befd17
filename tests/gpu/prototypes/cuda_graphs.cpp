// Compiles if the declarations of conditional nodes in devices/gpu/cuda equal cuda.h's. A separate file: cuda.h gives
// unversioned names to the newest functions.
#include <cuda.h>

#include "devices/gpu/cuda/conditional_api.h"
#include "tests/gpu/prototypes/same_call.h"

namespace tern::testing {

#define SAME_CALL(name, symbol, parameters) \
  static_assert(same_call<decltype(gpu::ConditionalApi::name), decltype(&::symbol)>, "the parameters of " #symbol);
TERN_GPU_CONDITIONAL(SAME_CALL)
#undef SAME_CALL

using Theirs = CUgraphNodeParams;
using Ours = gpu::ConditionalNode;
static_assert(sizeof(Ours) == sizeof(Theirs) && Ours{}.type == CU_GRAPH_NODE_TYPE_CONDITIONAL);
static_assert(offsetof(Ours, handle) == offsetof(Theirs, conditional) + offsetof(CUDA_CONDITIONAL_NODE_PARAMS, handle));
static_assert(offsetof(Ours, kind) == offsetof(Theirs, conditional) + offsetof(CUDA_CONDITIONAL_NODE_PARAMS, type));
static_assert(offsetof(Ours, size) == offsetof(Theirs, conditional) + offsetof(CUDA_CONDITIONAL_NODE_PARAMS, size));
static_assert(offsetof(Ours, bodies) ==
              offsetof(Theirs, conditional) + offsetof(CUDA_CONDITIONAL_NODE_PARAMS, phGraph_out));
static_assert(offsetof(Ours, context) == offsetof(Theirs, conditional) + offsetof(CUDA_CONDITIONAL_NODE_PARAMS, ctx));
static_assert(static_cast<int>(gpu::ConditionalKind::branch) == CU_GRAPH_COND_TYPE_IF);
static_assert(static_cast<int>(gpu::ConditionalKind::loop) == CU_GRAPH_COND_TYPE_WHILE);
static_assert(gpu::kReplaceDependencies == CU_STREAM_SET_CAPTURE_DEPENDENCIES);

}  // namespace tern::testing
