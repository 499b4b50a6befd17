// Compiles if the declarations of factorizations in devices/gpu equal cusolverDn.h's and cublas_v2.h's.
#include <cublas_v2.h>
#include <cusolverDn.h>

#include "devices/gpu/cuda/cusolver_api.h"
#include "tests/gpu/prototypes/same_call.h"

namespace tern::testing {

#define SAME_CALL(name, symbol) \
  static_assert(same_call<decltype(gpu::CusolverApi::name), decltype(&::symbol)>, #symbol);
#define SAME_TYPE(name, symbol) \
  static_assert(same_call<std::remove_extent_t<decltype(gpu::CusolverApi::name)>, decltype(&::symbol)>, #symbol);
#define SAME_SOLVER(name, symbol, parameters) SAME_CALL(name, cusolverDn##symbol)
#define SAME_SOLVERS(name, s, d, c, z, parameters) \
  SAME_TYPE(name, cusolverDn##s)                   \
  SAME_TYPE(name, cusolverDn##d) SAME_TYPE(name, cusolverDn##c) SAME_TYPE(name, cusolverDn##z)
#define SAME_BLAS(name, symbol, parameters) SAME_CALL(name, cublas##symbol)
#define SAME_BLASES(name, s, d, c, z, parameters) \
  SAME_TYPE(name, cublas##s) SAME_TYPE(name, cublas##d) SAME_TYPE(name, cublas##c) SAME_TYPE(name, cublas##z)
TERN_GPU_CUSOLVER_FUNCTIONS(SAME_SOLVERS)
TERN_GPU_CUSOLVER_COMMON(SAME_SOLVER)
TERN_GPU_CUSOLVER_NEWER(SAME_SOLVER)
TERN_GPU_CUBLAS_FUNCTIONS(SAME_BLASES)
TERN_GPU_CUBLAS_COMMON(SAME_BLAS)

namespace n = gpu::cusolver;
static_assert(gpu::kSuccess == CUSOLVER_STATUS_SUCCESS && n::kAllocFailed == CUSOLVER_STATUS_ALLOC_FAILED);
static_assert(n::kBlasAllocFailed == CUBLAS_STATUS_ALLOC_FAILED);
static_assert(n::kLower == CUBLAS_FILL_MODE_LOWER && n::kUpper == CUBLAS_FILL_MODE_UPPER);
static_assert(n::kNoVectors == CUSOLVER_EIG_MODE_NOVECTOR && n::kVectors == CUSOLVER_EIG_MODE_VECTOR);
static_assert(n::kTypes[0] == CUDA_R_32F && n::kTypes[1] == CUDA_R_64F);
static_assert(n::kTypes[2] == CUDA_C_32F && n::kTypes[3] == CUDA_C_64F);
static_assert(same_call<int (*)(int, int*), decltype(&::cusolverGetProperty)>);
static_assert(same_call<int (*)(int, int*), decltype(&::cublasGetProperty)>);
static_assert(MAJOR_VERSION == 0 && MINOR_VERSION == 1 && PATCH_LEVEL == 2);

}  // namespace tern::testing
