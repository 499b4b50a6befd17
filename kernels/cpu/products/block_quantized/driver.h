// y = x w^T + bias in float32 by a quantized matrix w, which is read in its own bits.
#pragma once

#include "dtypes/blocks.h"
#include "kernels/cpu/pointwise/finish.h"

namespace tern::block_quantized {

struct BlockQuantizedProduct {
  QuantizedMatrix matrix;  ///< n rows of k from matrix.first on
  std::int64_t n = 0;
  const std::byte* weight = nullptr;  ///< the value's first byte
  const float* x = nullptr;           ///< [m, k], dense
  std::int64_t m = 0;
  const float* bias = nullptr;  ///< [n], or null
  float* y = nullptr;           ///< [m, n], dense
  pointwise::BoundEpilogue finish;
};

/// Rows of x up to which the time is that of reading the matrix.
inline constexpr std::int64_t kFewRows = 8;

/// Runs on several threads; the bits do not depend on their number. m, n and k are at least 1.
void multiply(const BlockQuantizedProduct& p);

/// Numbers [begin, begin + count) of a row, as dequantize_row (dtypes/blocks.h).
void numbers_of_row(const QuantizedMatrix& m, const std::byte* at, std::int64_t row, std::int64_t begin,
                    std::int64_t count, float* to);

/// The scales, times the outer one, or the zero points of `rows` rows from `row` on: one for each block, row by row.
void scales_of_rows(const QuantizedMatrix& m, const std::byte* at, std::int64_t row, std::int64_t rows, float* to);
void zeros_of_rows(const QuantizedMatrix& m, const std::byte* at, std::int64_t row, std::int64_t rows, float* to);

}  // namespace tern::block_quantized
