// Sums of products of two lines of integers of 8 bits, for a few lines of each: a weight is read where it lies.
#pragma once

#include "dtypes/levels.h"
#include "kernels/cpu/products/int8/methods.h"

namespace tern::int8 {

/// rows x columns sums. A line of x lies in steps of 64 bytes at offsets from its row; one of the weight in one piece.
/// Of the last step, `last` bytes are read and multiplied.
struct DotBlock {
  const std::byte* x = nullptr;
  std::int64_t x_row = 0, rows = 0;
  std::span<const std::int64_t> steps;
  std::int64_t last = kStep;
  const std::byte* weight = nullptr;
  std::int64_t weight_row = 0, columns = 0;
  Signs signs;
  std::int32_t* sums = nullptr;  ///< [rows, columns], rows `ld` apart
  std::int64_t ld = 0;
};

TERN_LEVEL_FUNCTIONS(int8_dots, dots, const DotBlock&)
/// Rows by a weight in Layout::rows, as Method::multiply.
TERN_LEVEL_FUNCTIONS(vectors, multiply_by_dots, const TileRows&, const std::byte*, IndexRange, const RowResults&,
                     const Task&)
/// Integers, with a sign or without, as floats.
TERN_LEVEL_FUNCTIONS(vectors, widen_bytes, const std::byte* from, bool with_sign, std::int64_t count, float* to)

}  // namespace tern::int8
