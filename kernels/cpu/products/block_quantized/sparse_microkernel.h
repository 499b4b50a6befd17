// Products by 2:4 sparse matrices (dtypes/blocks.h), whose rows are expanded in registers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dtypes/levels.h"
#include "kernels/cpu/products/block_quantized/driver.h"

namespace tern::block_quantized {

constexpr int kMostSparseRows = 4;  ///< rows of x in one call of a loop

/// Part of a row: columns, a multiple of 8, from one on that is such a multiple too.
struct SparseRow {
  const std::uint8_t* elements = nullptr;  ///< elements that are kept
  const std::uint8_t* position_codes = nullptr;
  std::ptrdiff_t columns = 0;
};

/// Loops over elements of a type.
struct SparseElementLoops {
  void (*numbers)(const SparseRow& row, float* to) = nullptr;
  /// sums[i] = row times row i of x, whose rows lie x_row floats apart; by the number of these.
  void (*dots[kMostSparseRows])(const SparseRow& row, const float* x, std::ptrdiff_t x_row, float* sums) = {};
};
struct SparseLoops {
  SparseElementLoops f32, f16, bf16;
  const SparseElementLoops& element_loops(DType element) const {
    return element == DType::f32 ? f32 : element == DType::f16 ? f16 : bf16;
  }
};
/// The loops of this processor.
const SparseLoops& sparse_loops();

TERN_LEVEL_FUNCTIONS(vectors, set_sparse_loops, SparseLoops* loops)

/// Do the work of numbers_of_row and multiply (driver.h), for up to kFewRows rows of x.
void sparse_numbers(const QuantizedMatrix& m, const std::byte* at, std::int64_t row, std::int64_t begin,
                    std::int64_t count, float* to);
void multiply_sparse(const BlockQuantizedProduct& p);

}  // namespace tern::block_quantized
