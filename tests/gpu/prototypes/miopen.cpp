// Compiles if the declarations of MIOpen in devices/gpu equal miopen.h's.
#include <miopen/miopen.h>

#include <cstddef>

#include "devices/gpu/hip/miopen_api.h"
#include "tests/gpu/prototypes/same_call.h"

namespace tern::testing {

#define SAME_CALL(name, suffix, parameters) \
  static_assert(same_call<decltype(gpu::MiopenApi::name), decltype(&::miopen##suffix)>, "the parameters of " #suffix);
TERN_GPU_MIOPEN_FUNCTIONS(SAME_CALL)
#undef SAME_CALL

static_assert(gpu::miopen::kAllocFailed == miopenStatusAllocFailed);
static_assert(gpu::miopen::kHalf == miopenHalf);
static_assert(gpu::miopen::kFloat == miopenFloat);
static_assert(gpu::miopen::kBfloat16 == miopenBFloat16);
static_assert(gpu::miopen::kConvolution == ::miopenConvolution);
static_assert(sizeof(gpu::MiopenSolution) == sizeof(miopenConvSolution_t));
static_assert(offsetof(gpu::MiopenSolution, workspace) == offsetof(miopenConvSolution_t, workspace_size));
static_assert(offsetof(gpu::MiopenSolution, id) == offsetof(miopenConvSolution_t, solution_id));
static_assert(offsetof(gpu::MiopenSolution, algorithm) == offsetof(miopenConvSolution_t, algorithm));

}  // namespace tern::testing
