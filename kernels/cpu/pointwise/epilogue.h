// What a product or convolution does to its result before it leaves the cache: the pointwise expression that was fused
// into its node.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "kernels/cpu/pointwise/leaf_chain.h"
#include "kernels/cpu/pointwise/requantize.h"
#include "kernels/cpu/pointwise/tile_program.h"

namespace tern::pointwise {

/// An expression that is min(max(own result + operand, low), high), or less than that.
struct SimpleEpilogue {
  std::ptrdiff_t operand = -1;  ///< in KernelCall::in, float32 in the output's order; -1: nothing is added
  float low, high;              ///< infinite where there is no bound
};

/// The expression of a matmul or convolution node with a float32 result, which may become one of 8-bit integers. Its
/// load 0 is the op's own result, with the bias; load k is operand 3 + k - 1 of the node. Immutable: threads share it.
///
/// Every function gives the bits that a pointwise node after the op would give, whatever the cuts.
class Epilogue {
 public:
  /// Null where the node has no expression. Called when the kernel is prepared.
  static std::unique_ptr<Epilogue> make(const KernelCall& call);
  explicit Epilogue(const KernelCall& call);

  /// What a kernel may do itself while it has the result in registers: the same bits, NaN included.
  const std::optional<SimpleEpilogue>& simple() const { return simple_; }

  /// The whole output in place, on all threads: for kernels that cannot do better.
  void apply(const KernelCall& call) const;
  /// The elements begin..begin + count of the output, in row-major order, in place, on the calling thread.
  void apply(const KernelCall& call, std::int64_t begin, std::int64_t count) const;
  /// Replaces a block in scratch by the expression's value; the caller stores it. Element (i, j), at block[i * ld + j],
  /// is the output's element number begin + i * row_step + j in row-major order. On the calling thread.
  void apply_block(const KernelCall& call, float* block, std::int64_t ld, std::int64_t rows, std::int64_t columns,
                   std::int64_t begin, std::int64_t row_step) const;
  /// Whether a result of 8 bits can be stored by store_block, which is the only way then: of blocks whose rows are
  /// `row_step` elements of the output apart.
  bool stores_bytes(std::int64_t row_step) const { return requantizer_ && requantizer_->suits(row_step); }
  /// Stores what apply_block would make in the output, of float32 or 8-bit integers; the block may be changed. False,
  /// and nothing is done, where that is no faster.
  bool store_block(const KernelCall& call, float* block, std::int64_t ld, std::int64_t rows, std::int64_t columns,
                   std::int64_t begin, std::int64_t row_step) const;

 private:
  std::uint64_t number_;  ///< no other epilogue has it
  TileProgram program_;
  std::optional<SimpleEpilogue> simple_;
  std::optional<LeafChain> leaves_;
  std::optional<Requantizer> requantizer_;
  ActivationLoop activation_ = nullptr;  ///< that follows the leaves, or is all of the expression
};

}  // namespace tern::pointwise
