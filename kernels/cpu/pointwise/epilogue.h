// Epilogues: a fused pointwise expression, applied to the result of a product or convolution before the result leaves
// the cache.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "kernels/cpu/pointwise/leaf_chain.h"
#include "kernels/cpu/pointwise/requantize.h"
#include "kernels/cpu/pointwise/tile_program.h"

namespace tern::pointwise {

/// An expression min(max(own result + operand, low), high), or a part of this form.
struct SimpleEpilogue {
  std::ptrdiff_t operand = -1;  ///< index in KernelCall::in, float32 in the output's order; -1: no addend
  float low, high;              ///< infinite if unbounded
};

/// The expression of a matmul or convolution node with a float32 or requantized 8-bit result. Load 0 of the expression
/// is the op's own result, with the bias; load k is operand 3 + k - 1 of the node. Immutable, so threads share an
/// object.
///
/// Every function gives the bits of a pointwise node after the op, whatever the division into blocks; activations of
/// bfloat16 results are within a quarter of a unit in the last place before they are rounded.
class Epilogue {
 public:
  /// Returns null if the node has no expression. Called when the kernel is prepared.
  static std::unique_ptr<Epilogue> create(const KernelCall& call);
  explicit Epilogue(const KernelCall& call);

  /// The form for kernels with the result in registers: same bits, NaN included.
  const std::optional<SimpleEpilogue>& simple() const { return simple_; }

  /// Applies to the whole output in place, on all threads: the fallback for kernels.
  void apply(const KernelCall& call) const;
  /// Applies to elements begin..begin + count of the output, in row-major order, in place, on the calling thread.
  void apply(const KernelCall& call, std::int64_t begin, std::int64_t count) const;
  /// Replaces a block in scratch by the expression's value, on the calling thread; the caller stores the block. Element
  /// (i, j), at block[i * ld + j], is the output's element number begin + i * row_step + j in row-major order.
  void apply_block(const KernelCall& call, float* block, std::int64_t ld, std::int64_t rows, std::int64_t columns,
                   std::int64_t begin, std::int64_t row_step) const;
  /// True if store_block can store 8-bit results in blocks with rows `row_step` output elements apart. apply_block
  /// cannot.
  bool stores_bytes(std::int64_t row_step) const { return requantizer_ && requantizer_->suits(row_step); }
  /// Stores the result of apply_block in the output, as float32 or 8-bit integers; may change the block. Returns false
  /// without effect if this is no faster.
  bool store_block(const KernelCall& call, float* block, std::int64_t ld, std::int64_t rows, std::int64_t columns,
                   std::int64_t begin, std::int64_t row_step) const;

 private:
  std::uint64_t number_;  ///< unique among epilogues
  TileProgram program_;
  std::optional<SimpleEpilogue> simple_;
  std::optional<LeafChain> leaves_;
  std::optional<Requantizer> requantizer_;
  ActivationLoop activation_ = nullptr;  ///< applied after the leaves, or the whole expression
};

}  // namespace tern::pointwise
