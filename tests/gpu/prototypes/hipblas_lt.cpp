// Compiles if the declarations of products in devices/gpu equal hipblaslt.h's.
#define __HIP_PLATFORM_AMD__ 1
#include <hipblaslt/hipblaslt.h>

#include "devices/gpu/libraries/lt_api.h"
#include "tests/gpu/prototypes/same_call.h"

namespace tern::testing {

#define SAME_CALL(name, suffix, parameters) \
  static_assert(same_call<decltype(gpu::LtApi::name), decltype(&::hipblasLt##suffix)>, "the parameters of " #suffix);
TERN_GPU_LT_FUNCTIONS(SAME_CALL)
#undef SAME_CALL
static_assert(same_call<gpu::Status (*)(gpu::LtHandle, int*), decltype(&::hipblasLtGetVersion)>);

namespace n = gpu::names;
static_assert(sizeof(gpu::LtAlgorithm) == sizeof(hipblasLtMatmulAlgo_t));
static_assert(sizeof(gpu::LtChoice) == sizeof(hipblasLtMatmulHeuristicResult_t));
static_assert(offsetof(gpu::LtChoice, workspace) == offsetof(hipblasLtMatmulHeuristicResult_t, workspaceSize));
static_assert(offsetof(gpu::LtChoice, status) == offsetof(hipblasLtMatmulHeuristicResult_t, state));
static_assert(gpu::kSuccess == HIPBLAS_STATUS_SUCCESS && n::kLtAllocFailed == HIPBLAS_STATUS_ALLOC_FAILED);
static_assert(n::kLtInvalidValue == HIPBLAS_STATUS_INVALID_VALUE);
static_assert(n::kLtNotSupported == HIPBLAS_STATUS_NOT_SUPPORTED);
static_assert(n::kLtNormal == HIPBLAS_OP_N && n::kLtTransposed == HIPBLAS_OP_T);
static_assert(n::kLtCompute32 == HIPBLAS_COMPUTE_32F && n::kLtCompute64 == HIPBLAS_COMPUTE_64F);
static_assert(n::kLtComputeBfloat16 == HIPBLAS_COMPUTE_32F_FAST_16BF);
static_assert(n::kLtComputeInt32 == HIPBLAS_COMPUTE_32I && n::kLtI8 == HIP_R_8I && n::kLtI32 == HIP_R_32I);
static_assert(n::kLtScaleA == HIPBLASLT_MATMUL_DESC_A_SCALE_POINTER);
static_assert(n::kLtScaleB == HIPBLASLT_MATMUL_DESC_B_SCALE_POINTER);
static_assert(n::kLtComputeTf32 == HIPBLAS_COMPUTE_32F_FAST_TF32);
static_assert(n::kLtF16 == HIP_R_16F && n::kLtBf16 == HIP_R_16BF && n::kLtF32 == HIP_R_32F && n::kLtF64 == HIP_R_64F);
static_assert(n::kLtE4m3Fnuz == HIP_R_8F_E4M3_FNUZ && n::kLtE5m2Fnuz == HIP_R_8F_E5M2_FNUZ);
static_assert(n::kLtBatchCount == HIPBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
static_assert(n::kLtBatchOffset == HIPBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
static_assert(n::kLtTransA == HIPBLASLT_MATMUL_DESC_TRANSA && n::kLtTransB == HIPBLASLT_MATMUL_DESC_TRANSB);
static_assert(n::kLtEpilogue == HIPBLASLT_MATMUL_DESC_EPILOGUE);
static_assert(n::kLtBiasPointer == HIPBLASLT_MATMUL_DESC_BIAS_POINTER);
static_assert(n::kLtBiasType == HIPBLASLT_MATMUL_DESC_BIAS_DATA_TYPE);
static_assert(n::kLtEpilogueBias == HIPBLASLT_EPILOGUE_BIAS && 1 == HIPBLASLT_EPILOGUE_DEFAULT);
static_assert(n::kLtWorkspace == HIPBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);

}  // namespace tern::testing
