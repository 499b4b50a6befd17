// Names and constants of hipBLASLt (hipblaslt.h, hipblas-common.h, library_types.h); tests/gpu/prototypes compares them
// with the headers, if installed.
#pragma once

#include <array>

#define TERN_GPU_LT_SYMBOL(suffix) "hipblasLt" #suffix

namespace tern::gpu::names {

constexpr const char* kLt = "hipBLASLt";
constexpr const char* kLtVariable = "TERN_HIPBLASLT";
constexpr bool kLtHandleKeepsMemory = true;
constexpr const char* kLtHint = "install the package hipblaslt of ROCm";
constexpr const char* kLtLibraries[] = {"libhipblaslt.so.1", "libhipblaslt.so.0", "libhipblaslt.so",
                                        "/opt/rocm/lib/libhipblaslt.so"};

// hipblasStatus_t
constexpr int kLtAllocFailed = 2, kLtInvalidValue = 3, kLtNotSupported = 7;
// hipblasOperation_t
constexpr int kLtNormal = 111, kLtTransposed = 112;
// hipblasComputeType_t
constexpr int kLtCompute32 = 2, kLtComputeBfloat16 = 5, kLtComputeTf32 = 6, kLtCompute64 = 7, kLtComputeInt32 = 9;
// hipDataType
constexpr int kLtF32 = 0, kLtF64 = 1, kLtF16 = 2, kLtBf16 = 14, kLtE4m3 = 28, kLtE5m2 = 29, kLtI8 = 3, kLtI32 = 10;
constexpr int kLtE4m3Fnuz = 1000, kLtE5m2Fnuz = 1001;
constexpr bool kOwnRows = false;             // not measured
constexpr bool kLtRoundsFloat8Sums = false;  // no loss known for CDNA 3
// hipblasLtMatrixLayoutAttribute_t
constexpr int kLtBatchCount = 0, kLtBatchOffset = 1;
// hipblasLtMatmulDescAttributes_t
constexpr int kLtTransA = 0, kLtTransB = 1, kLtEpilogue = 2, kLtBiasPointer = 3, kLtBiasType = 4, kLtScaleA = 5,
              kLtScaleB = 6;
// Scale modes are not used with this vendor.
constexpr int kLtScaleModeA = -1, kLtScaleModeB = -1, kLtScaleOfRows = -1, kLtScaleOfBlocks = -1;
// hipblasLtEpilogue_t
constexpr int kLtEpilogueBias = 4;
// hipblasLtMatmulPreferenceAttributes_t
constexpr int kLtWorkspace = 1;
constexpr int kLtReductions = -1, kLtReduceInCompute = 0;  // unsupported by hipBLASLt
constexpr std::array<int, 0> kLtAlignments = {};           // hipBLASLt accepts every element address
// hipblasLtMatmulAlgo_t, in words of 64 bits
constexpr int kLtAlgorithmWords = 3;

}  // namespace tern::gpu::names
