// Compiles if the declarations of contexts in devices/gpu/cuda equal cuda.h's.
#include <cuda.h>

#include "devices/gpu/cuda/context_api.h"
#include "tests/gpu/prototypes/same_call.h"

namespace tern::testing {

#define SAME_CALL(name, symbol, parameters) \
  static_assert(same_call<decltype(gpu::ContextApi::name), decltype(&::symbol)>, "the parameters of " #symbol);
TERN_GPU_CONTEXT(SAME_CALL)
#undef SAME_CALL

}  // namespace tern::testing
