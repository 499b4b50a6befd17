// An epilogue as a sequence of operations on the result, each with a leaf: a number, a number per row, column or
// element, or a product of two leaves. Integer sums are scaled, corrected and clamped in this form. The loop gathers no
// operands, so a block of 32 x 32 takes a fraction of a tile program's time.
#pragma once

#include <optional>
#include <vector>

#include "kernels/cpu/pointwise/leaf_steps.h"

namespace tern::pointwise {

class LeafChain {
 public:
  static constexpr std::size_t kMostLinks = 8;

  /// Returns nullopt if instruction `last` does not end a chain, or if a step has no loop.
  static std::optional<LeafChain> create(const KernelCall& call, const TileProgram& program, std::size_t last);

  /// Element (i, j) of the block is the output's element number begin + i * row_step + j, as for Epilogue::apply_block.
  /// Returns false if the block does not consist of slices of rows.
  bool apply(const KernelCall& call, const BlockBuffers& block, std::int64_t begin, std::int64_t row_step) const;

 private:
  /// The steps of a chain that scales, adds and clamps; -1: absent.
  struct Scaled {
    std::ptrdiff_t first = -1, second = -1, addend = -1;
    bool bounded = false;
    float low, high;
  };
  std::optional<Scaled> scaled() const;

  std::vector<LeafStep> steps_;
  std::optional<Scaled> scaled_;
  std::int64_t inner_ = 1;  ///< elements of a row of the output
};

}  // namespace tern::pointwise
