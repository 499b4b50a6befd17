// y = x w^T + bias on matrix tiles, with a weight that is read where it lies: nothing is packed, at load or later.
#pragma once

#include <cstddef>
#include <vector>

#include "dtypes/blocks.h"
#include "kernels/cpu/pointwise/finish.h"
#include "kernels/cpu/products/tiles/split_microkernel.h"

namespace tern::tiles {

struct SplitLinearOperands {
  const float* x = nullptr;
  const void* weight = nullptr;  ///< elements of `type`
  const float* bias = nullptr;   ///< [n], or null
  float* y = nullptr;
  pointwise::BoundEpilogue finish;
  DType type = DType::f32;                     ///< or one that is_one_part
  const QuantizedMatrix* quantized = nullptr;  ///< the weight is such a value: blocks of it are made numbers in turn
};

class SplitLinear {
 public:
  explicit SplitLinear(const TileLinearShape& shape);
  /// True if tiles gain anything for this shape, here.
  static bool suits(const TileLinearShape& shape);
  /// Bytes of scratch memory: none, since each thread splits what it reads.
  std::size_t scratch() const { return 0; }
  /// Runs on several threads. False when some result is not finite: then y is to be computed in another way.
  bool run(const SplitLinearOperands& o, std::byte* scratch) const;

 private:
  LeftOperand numbers(const SplitLinearOperands& o, IndexRange blocks) const;
  std::int64_t groups_for(std::int64_t tiles, std::int64_t threads) const;

  TileLinearShape shape_;
  std::int64_t rows_at_a_time_;
  std::vector<std::int64_t> steps_;
};

}  // namespace tern::tiles
