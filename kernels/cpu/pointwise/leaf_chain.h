// An epilogue that takes the result through one operation after another, each with a leaf: a number, or one for each
// row, column or element, or a product of two such. So are integers' sums scaled, corrected and bounded. Its loop has
// no operands to bring together, and so takes a fraction of the time of a tile program for a block of 32 x 32.
#pragma once

#include <optional>
#include <vector>

#include "kernels/cpu/pointwise/leaf_steps.h"

namespace tern::pointwise {

class LeafChain {
 public:
  static constexpr std::size_t kMostLinks = 8;

  /// Nothing where what makes instruction `last` is none, or takes other steps than the loops have.
  static std::optional<LeafChain> of(const KernelCall& call, const TileProgram& program, std::size_t last);

  /// Element (i, j) of the block is the output's element number begin + i * row_step + j, as for Epilogue::apply_block.
  /// False where the block does not consist of parts of rows.
  bool apply(const KernelCall& call, const BlockPlace& block, std::int64_t begin, std::int64_t row_step) const;

 private:
  /// The steps of a chain that scales, adds and bounds: -1 where one is missing.
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
