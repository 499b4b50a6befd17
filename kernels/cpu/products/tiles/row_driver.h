// y = x w^T + bias in bfloat16 on matrix tiles, by a weight that was packed before.
#pragma once

#include "kernels/cpu/products/row_division.h"
#include "kernels/cpu/products/tiles/rows.h"
#include "kernels/cpu/products/tiles/split_driver.h"

namespace tern::tiles {

struct RowLinearOperands {
  Elements x;
  const std::byte* weight = nullptr;  ///< packed by `pack`, or the first byte of a quantized value
  const float* bias = nullptr;        ///< [n], or null
  std::byte* y = nullptr;
  bool narrow = false;  ///< y is bfloat16
  pointwise::BoundEpilogue finish;
  std::int64_t first_row = 0;                  ///< row of y that the first row of x gives
  const QuantizedMatrix* quantized = nullptr;  ///< the type of `weight`: its blocks of 32 rows are packed in turn
};

class RowLinear {
 public:
  /// `quantized`: each thread has blocks of the weight of its own, which it makes of a quantized value in a run.
  explicit RowLinear(const TileLinearShape& shape, bool quantized = false);
  /// True if products of rows gain anything for this shape, where they pay at all.
  static bool suits(const TileLinearShape& shape);
  std::int64_t packed_bytes() const { return packed_weight_bytes(shape_.n, steps_of(shape_.k)); }
  void pack(Elements weight, std::byte* to) const;
  /// Packs a weight [k, n], rows TileLinearShape::w_row elements apart.
  void pack_columns(Elements weight, std::byte* to) const;
  /// Restores a dense [n, k].
  void unpack(const std::byte* packed, float* to) const;
  /// Bytes that `run` wants, 64-byte aligned.
  std::size_t scratch() const;
  /// Runs on several threads. False when some result is not finite: then y is to be computed in another way.
  bool run(const RowLinearOperands& o, std::byte* scratch) const;

 private:
  bool multiply_quantized(const RowLinearOperands& o, const TileRows& rows, IndexRange blocks,
                          const RowResults& results) const;
  TileLinearShape shape_;
  RowDivision division_;
  RowSteps steps_, unpacked_steps_;  ///< steps of packed rows, and of rows of bfloat16 where they lie
};

}  // namespace tern::tiles
