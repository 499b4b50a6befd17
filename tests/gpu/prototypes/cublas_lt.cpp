// Compiles if the declarations of products in devices/gpu equal cublasLt.h's.
#include <cublasLt.h>

#include "devices/gpu/libraries/lt_api.h"
#include "tests/gpu/prototypes/same_call.h"

namespace tern::testing {

#define SAME_CALL(name, suffix, parameters) \
  static_assert(same_call<decltype(gpu::LtApi::name), decltype(&::cublasLt##suffix)>, "the parameters of " #suffix);
TERN_GPU_LT_FUNCTIONS(SAME_CALL)
#undef SAME_CALL
static_assert(same_call<std::size_t (*)(), decltype(&::cublasLtGetVersion)>);

namespace n = gpu::names;
static_assert(sizeof(gpu::LtAlgorithm) == sizeof(cublasLtMatmulAlgo_t));
static_assert(sizeof(gpu::LtChoice) == sizeof(cublasLtMatmulHeuristicResult_t));
static_assert(offsetof(gpu::LtChoice, workspace) == offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
static_assert(offsetof(gpu::LtChoice, status) == offsetof(cublasLtMatmulHeuristicResult_t, state));
static_assert(gpu::kSuccess == CUBLAS_STATUS_SUCCESS && n::kLtAllocFailed == CUBLAS_STATUS_ALLOC_FAILED);
static_assert(n::kLtInvalidValue == CUBLAS_STATUS_INVALID_VALUE && n::kLtNotSupported == CUBLAS_STATUS_NOT_SUPPORTED);
static_assert(n::kLtNormal == CUBLAS_OP_N && n::kLtTransposed == CUBLAS_OP_T);
static_assert(n::kLtCompute32 == CUBLAS_COMPUTE_32F && n::kLtCompute64 == CUBLAS_COMPUTE_64F);
static_assert(n::kLtComputeBfloat16 == CUBLAS_COMPUTE_32F_FAST_16BF);
static_assert(n::kLtComputeInt32 == CUBLAS_COMPUTE_32I && n::kLtI8 == CUDA_R_8I && n::kLtI32 == CUDA_R_32I);
static_assert(n::kLtScaleA == CUBLASLT_MATMUL_DESC_A_SCALE_POINTER);
static_assert(n::kLtScaleB == CUBLASLT_MATMUL_DESC_B_SCALE_POINTER);
static_assert(n::kLtScaleModeA == CUBLASLT_MATMUL_DESC_A_SCALE_MODE);
static_assert(n::kLtScaleModeB == CUBLASLT_MATMUL_DESC_B_SCALE_MODE);
static_assert(n::kLtScaleOfRows == CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F);
static_assert(n::kLtScaleOfBlocks == CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0);
static_assert(n::kLtComputeTf32 == CUBLAS_COMPUTE_32F_FAST_TF32);
static_assert(n::kLtF16 == CUDA_R_16F && n::kLtBf16 == CUDA_R_16BF && n::kLtF32 == CUDA_R_32F);
static_assert(n::kLtF64 == CUDA_R_64F && n::kLtE4m3 == CUDA_R_8F_E4M3 && n::kLtE5m2 == CUDA_R_8F_E5M2);
static_assert(n::kLtBatchCount == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
static_assert(n::kLtBatchOffset == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
static_assert(n::kLtTransA == CUBLASLT_MATMUL_DESC_TRANSA && n::kLtTransB == CUBLASLT_MATMUL_DESC_TRANSB);
static_assert(n::kLtEpilogue == CUBLASLT_MATMUL_DESC_EPILOGUE);
static_assert(n::kLtBiasPointer == CUBLASLT_MATMUL_DESC_BIAS_POINTER);
static_assert(n::kLtBiasType == CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE);
static_assert(n::kLtEpilogueBias == CUBLASLT_EPILOGUE_BIAS && 1 == CUBLASLT_EPILOGUE_DEFAULT);
static_assert(n::kLtWorkspace == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
static_assert(n::kLtReductions == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK);
static_assert(n::kLtReduceInCompute == CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
static_assert(n::kLtAlignments[0] == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
static_assert(n::kLtAlignments[1] == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
static_assert(n::kLtAlignments[2] == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
static_assert(n::kLtAlignments[3] == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);

}  // namespace tern::testing
