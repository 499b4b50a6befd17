// Kernel parameters of the stand-ins for cuBLASLt and hipBLASLt: a validated product.
#pragma once

#include <tern/dtype.h>

#include <cstdint>

namespace tern::stand_in {

/// Column-major, as in memory.
struct MatrixCall {
  std::uint64_t address;
  std::int64_t leading, batch_offset;
  DType dtype;
  bool transposed;
};

enum class Rounding : std::int32_t { none, bfloat16, tf32 };

struct ProductCall {
  MatrixCall a, b, c, d;
  std::uint64_t bias, workspace;   ///< 0: none
  std::uint64_t scale_a, scale_b;  ///< float32, 0: none
  bool scales_rows;                ///< a scale for each row of op(A) and column of op(B); false: a scale for all
  bool scales_blocks;              ///< or a power of two for each 32 elements along k, in tiles
  std::int64_t m, n, k, batch;
  std::uint64_t workspace_bytes;
  double alpha, beta;
  std::uint32_t activation;  ///< bits of cublasLtEpilogue_t: 2 ReLU, 32 GELU
  Rounding rounding;
  bool splits;  ///< adds two partial sums after rounding both to the result's type
  bool single;  ///< sums are rounded to float
};

constexpr const char* kProductKernel = "stand_in_product";

}  // namespace tern::stand_in
