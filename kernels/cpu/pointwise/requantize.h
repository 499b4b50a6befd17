// An epilogue with 8-bit integer results, used by quantized layers: sums are scaled, added to, clamped, divided by the
// result's scale, rounded and moved by its zero point, possibly after an activation.
#pragma once

#include <optional>

#include "kernels/cpu/pointwise/activation.h"
#include "kernels/cpu/pointwise/leaf_chain.h"
#include "kernels/cpu/pointwise/requantize_loops.h"

namespace tern::pointwise {

class Requantizer {
 public:
  /// Returns nullopt for other expressions.
  static std::optional<Requantizer> create(const KernelCall& call, const TileProgram& program);

  /// True if blocks with rows `row_step` output elements apart can be stored.
  bool suits(std::int64_t row_step) const { return inner_ == 0 || inner_ == row_step; }
  /// Like Epilogue::store_block.
  void store(const KernelCall& call, float* block, std::int64_t ld, std::int64_t rows, std::int64_t columns,
             std::int64_t begin, std::int64_t row_step) const;
  /// Runs a pointwise node on all threads.
  void run(const KernelCall& call) const;

 private:
  class Reader;

  void store_block(const KernelCall& call, const float* block, std::int64_t ld, std::int64_t rows, std::int64_t columns,
                   std::int64_t begin, std::int64_t row_step) const;

  std::optional<LeafChain> activated_;  ///< argument of the activation, unless the sums themselves
  ActivationLoop activation_ = nullptr;
  std::optional<Leaf> subtrahend_, first_, second_, addend_, residual_;
  float residual_low_, residual_high_;
  float scale_ = 1;
  bool divides_ = false;
  float low_ = 0, high_ = 0;
  std::int32_t zero_ = 0;
  std::int64_t inner_ = 0;  ///< elements of a row of the output
  std::size_t start_ = 0;   ///< pointwise node: operand to requantize
};

}  // namespace tern::pointwise
