// Functions of cuBLASLt and hipBLASLt used by products. Prototypes are equal; lt_names.h (cuda/ or hip/) has the symbol
// prefix and the differing constants.
#pragma once

#include <cstddef>
#include <cstdint>

#include "devices/gpu/api.h"
#include "lt_names.h"

namespace tern::gpu {

using LtHandle = void*;      ///< cublasLtHandle_t
using LtLayout = void*;      ///< cublasLtMatrixLayout_t
using LtProduct = void*;     ///< cublasLtMatmulDesc_t
using LtPreference = void*;  ///< cublasLtMatmulPreference_t

/// cublasLtMatmulAlgo_t. Opaque.
struct LtAlgorithm {
  std::uint64_t words[names::kLtAlgorithmWords] = {};
};
/// cublasLtMatmulHeuristicResult_t.
struct LtChoice {
  LtAlgorithm algorithm;
  std::size_t workspace = 0;  ///< required workspace in bytes
  int status = 0;             ///< the other members are valid on success
  float waves = 0;
  int reserved[4] = {};
};

// Functions: X(name, suffix of the symbol, (parameters)).
#define TERN_GPU_LT_FUNCTIONS(X)                                                                                   \
  X(create, Create, (LtHandle * handle))                                                                           \
  X(layout_create, MatrixLayoutCreate,                                                                             \
    (LtLayout * layout, int type, std::uint64_t rows, std::uint64_t columns, std::int64_t leading))                \
  X(layout_destroy, MatrixLayoutDestroy, (LtLayout layout))                                                        \
  X(layout_set, MatrixLayoutSetAttribute, (LtLayout layout, int attribute, const void* value, std::size_t bytes))  \
  X(product_create, MatmulDescCreate, (LtProduct * product, int compute, int scale))                               \
  X(product_destroy, MatmulDescDestroy, (LtProduct product))                                                       \
  X(product_set, MatmulDescSetAttribute, (LtProduct product, int attribute, const void* value, std::size_t bytes)) \
  X(preference_create, MatmulPreferenceCreate, (LtPreference * preference))                                        \
  X(preference_destroy, MatmulPreferenceDestroy, (LtPreference preference))                                        \
  X(preference_set, MatmulPreferenceSetAttribute,                                                                  \
    (LtPreference preference, int attribute, const void* value, std::size_t bytes))                                \
  X(heuristic, MatmulAlgoGetHeuristic,                                                                             \
    (LtHandle handle, LtProduct product, LtLayout a, LtLayout b, LtLayout c, LtLayout d, LtPreference preference,  \
     int wanted, LtChoice* choices, int* count))                                                                   \
  X(multiply, Matmul,                                                                                              \
    (LtHandle handle, LtProduct product, const void* alpha, const void* a, LtLayout a_layout, const void* b,       \
     LtLayout b_layout, const void* beta, const void* c, LtLayout c_layout, void* d, LtLayout d_layout,            \
     const LtAlgorithm* algorithm, void* workspace, std::size_t workspace_bytes, Stream stream))

struct LtApi {
#define TERN_GPU_MEMBER(name, suffix, parameters) Status(*name) parameters = nullptr;
  TERN_GPU_LT_FUNCTIONS(TERN_GPU_MEMBER)
#undef TERN_GPU_MEMBER
};

}  // namespace tern::gpu
