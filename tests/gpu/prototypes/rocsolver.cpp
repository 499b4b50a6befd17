// Compiles if the declarations of factorizations in devices/gpu equal rocsolver.h's and rocblas.h's.
#define __HIP_PLATFORM_AMD__ 1
#include <rocblas/rocblas.h>
#include <rocsolver/rocsolver.h>

#include "devices/gpu/hip/rocsolver_api.h"
#include "tests/gpu/prototypes/same_call.h"

namespace tern::testing {

#define SAME_CALL(name, symbol) \
  static_assert(same_call<decltype(gpu::RocsolverApi::name), decltype(&::symbol)>, #symbol);
#define SAME_TYPE(name, symbol) \
  static_assert(same_call<std::remove_extent_t<decltype(gpu::RocsolverApi::name)>, decltype(&::symbol)>, #symbol);
#define SAME_TYPES(name, s, d, c, z, parameters) \
  SAME_TYPE(name, rocsolver_##s)                 \
  SAME_TYPE(name, rocsolver_##d) SAME_TYPE(name, rocsolver_##c) SAME_TYPE(name, rocsolver_##z)
#define SAME_REAL(Real, first, second, parameters) \
  SAME_TYPE(syevj_##Real, rocsolver_##first) SAME_TYPE(syevj_##Real, rocsolver_##second)
#define SAME_BLAS(name, symbol, parameters) SAME_CALL(name, rocblas_##symbol)
TERN_GPU_ROCSOLVER_FUNCTIONS(SAME_TYPES)
TERN_GPU_ROCSOLVER_JACOBI(SAME_REAL)
TERN_GPU_ROCBLAS_FUNCTIONS(SAME_BLAS)

namespace n = gpu::rocsolver;
static_assert(gpu::kSuccess == rocblas_status_success && n::kMemoryError == rocblas_status_memory_error);
static_assert(n::kSizeIncreased == rocblas_status_size_increased);
static_assert(n::kSizeUnchanged == rocblas_status_size_unchanged);
static_assert(n::kUpper == rocblas_fill_upper && n::kLower == rocblas_fill_lower);
static_assert(n::kVectors == rocblas_evect_original && n::kNoVectors == rocblas_evect_none);
static_assert(n::kAllSingular == rocblas_svect_all && n::kSingular == rocblas_svect_singular);
static_assert(n::kNoSingular == rocblas_svect_none && n::kAscending == rocblas_esort_ascending);
static_assert(n::kOutOfPlace == rocblas_outofplace);
static_assert(same_call<int (*)(char*, std::size_t), decltype(&::rocsolver_get_version_string)>);

}  // namespace tern::testing
