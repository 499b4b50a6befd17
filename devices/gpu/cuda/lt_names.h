// Names and constants of cuBLASLt (cublasLt.h, cublas_api.h, library_types.h); tests/gpu/prototypes compares them with
// the headers.
#pragma once

#define TERN_GPU_LT_SYMBOL(suffix) "cublasLt" #suffix

namespace tern::gpu::names {

constexpr const char* kLt = "cuBLASLt";
constexpr const char* kLtVariable = "TERN_CUBLASLT";
constexpr bool kLtHandleKeepsMemory = false;  // cuBLASLt uses the workspace given to each call
constexpr const char* kLtHint = "install it with the CUDA Toolkit, or from PyPI: nvidia-cublas";
constexpr const char* kLtLibraries[] = {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so",
                                        "/usr/local/cuda/lib64/libcublasLt.so"};

// cublasStatus_t
constexpr int kLtAllocFailed = 3, kLtInvalidValue = 7, kLtNotSupported = 15;
// cublasOperation_t
constexpr int kLtNormal = 0, kLtTransposed = 1;
// cublasComputeType_t
constexpr int kLtCompute32 = 68, kLtComputeBfloat16 = 75, kLtComputeTf32 = 77, kLtCompute64 = 70, kLtComputeInt32 = 72;
// cudaDataType
constexpr int kLtF32 = 0, kLtF64 = 1, kLtF16 = 2, kLtBf16 = 14, kLtE4m3 = 28, kLtE5m2 = 29, kLtI8 = 3, kLtI32 = 10;
constexpr int kLtE4m3Fnuz = -1, kLtE5m2Fnuz = -1;  // unsupported by this vendor
constexpr bool kOwnRows = true;                    // an H100 needs 0.84 to 0.95 of cuBLASLt's time for a decoder step
constexpr bool kLtRoundsFloat8Sums = true;         // tensor cores of compute capability 9.0 accumulate about 14 bits
// cublasLtMatrixLayoutAttribute_t
constexpr int kLtBatchCount = 5, kLtBatchOffset = 6;
// cublasLtMatmulDescAttributes_t
constexpr int kLtTransA = 3, kLtTransB = 4, kLtEpilogue = 7, kLtBiasPointer = 8, kLtBiasType = 26, kLtScaleA = 17,
              kLtScaleB = 18;
constexpr int kLtScaleModeA = 31, kLtScaleModeB = 32;  // available since cuBLASLt 12.8
constexpr int kLtScaleOfRows = 3;                      // CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F
constexpr int kLtScaleOfBlocks = 2;                    // CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0
// cublasLtEpilogue_t
constexpr int kLtEpilogueBias = 4;
// cublasLtMatmulPreferenceAttributes_t
constexpr int kLtWorkspace = 1;
constexpr int kLtReductions = 3;               // REDUCTION_SCHEME_MASK
constexpr int kLtReduceInCompute = 2;          // CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE
constexpr int kLtAlignments[] = {5, 6, 7, 8};  // MIN_ALIGNMENT_A_BYTES to D
// cublasLtMatmulAlgo_t, in words of 64 bits
constexpr int kLtAlgorithmWords = 8;

}  // namespace tern::gpu::names
