// An epilogue that takes the result through one operation after another, each with a leaf: a number, or one for each
// row, column or element, or a product of two such. So are integers' sums scaled, corrected and bounded. Its loop has
// no operands to bring together, and so takes a fraction of the time of a tile program for a block of 32 x 32.
#pragma once

#include <array>
#include <optional>

#include "kernels/cpu/pointwise/leaf_loops.h"
#include "kernels/cpu/pointwise/tile_program.h"

namespace tern::pointwise {

class LeafChain {
 public:
  static constexpr std::size_t kMostLinks = 8;

  /// Nothing where the expression is none.
  static std::optional<LeafChain> of(const KernelCall& call, const TileProgram& program);

  /// Element (i, j) of the block is the output's element number begin + i * row_step + j, as for Epilogue::apply_block.
  /// False where the block does not consist of parts of rows.
  bool apply(const KernelCall& call, const BlockPlace& block, std::int64_t begin, std::int64_t row_step) const;

 private:
  enum class Kind : std::uint8_t { none, constant, uniform, row, column, element };
  struct Leaf {
    Kind kind = Kind::none;
    std::size_t operand = 0;  ///< of KernelCall::in
    std::int64_t stride = 0;
    float number = 0;
  };
  struct Link {
    LeafOp op{};
    Leaf leaf, times;
  };
  /// The links of a chain that scales, adds and bounds: -1 where one is missing.
  struct Scaled {
    std::ptrdiff_t first = -1, second = -1, addend = -1;
    bool bounded = false;
    float low, high;
  };
  std::optional<Scaled> scaled() const;
  static std::optional<Leaf> leaf_of(const Instruction& i, const TileInstruction& n, const TileProgram& program,
                                     const KernelCall& call);
  LeafNumbers numbers(const KernelCall& call, const Leaf& leaf, std::int64_t row, std::int64_t column,
                      std::int64_t begin, std::int64_t row_step) const;

  std::array<Link, kMostLinks> links_;
  std::size_t count_ = 0;
  std::optional<Scaled> scaled_;
  std::int64_t inner_ = 1;  ///< elements of a row of the output
};

}  // namespace tern::pointwise
