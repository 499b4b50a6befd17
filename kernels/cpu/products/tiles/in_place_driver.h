// y = x w^T + bias in bfloat16 on matrix tiles, by a weight of bfloat16 that is read where it lies: nothing is packed,
// at load or later. Tiles take the weight's rows as they are and the rows of x as columns, so sums come out by columns
// of y and are transposed when they are stored.
#pragma once

#include "kernels/cpu/products/row_division.h"
#include "kernels/cpu/products/tiles/rows.h"
#include "kernels/cpu/products/tiles/split_driver.h"

namespace tern::tiles {

struct InPlaceOperands {
  Elements x;
  const std::byte* weight = nullptr;  ///< bfloat16, rows TileLinearShape::w_row elements apart
  const float* bias = nullptr;        ///< [n], or null
  std::byte* y = nullptr;
  bool narrow = false;  ///< y is bfloat16
  pointwise::BoundEpilogue finish;
};

class InPlaceLinear {
 public:
  explicit InPlaceLinear(const TileLinearShape& shape);
  /// True if the processor has tiles, and they gain anything for this shape.
  static bool suits(const TileLinearShape& shape);
  /// Bytes that `run` wants, 64-byte aligned.
  std::size_t scratch() const;
  /// Runs on several threads. False when some result is not finite: then y is to be computed in another way.
  bool run(const InPlaceOperands& o, std::byte* scratch) const;

 private:
  TileLinearShape shape_;
  RowDivision division_;
};

/// A weight as it lies: rows of bfloat16, `row` bytes apart.
struct WeightRows {
  const std::byte* data = nullptr;
  std::int64_t row = 0, n = 0, k = 0;
};

/// Multiplies `count` rows of x, as pack_weight wrote them, by rows [32 blocks.begin, 32 blocks.end) of the weight, on
/// the calling thread. `finite`: whether all results are.
TERN_LEVEL_FUNCTIONS(tiles, multiply_in_place, const WeightRows& weight, IndexRange blocks, const std::byte* x,
                     std::int64_t count, const RowResults& results, bool* finite)

}  // namespace tern::tiles
