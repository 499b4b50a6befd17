// An epilogue as one operation after another on the op's result, each with a leaf: a number, or one for each row,
// column or element. What loops of leaf_chain.h and requantize.h are chosen by.
#pragma once

#include <optional>
#include <vector>

#include "kernels/cpu/pointwise/leaf_loops.h"
#include "kernels/cpu/pointwise/tile_program.h"

namespace tern::pointwise {

/// Numbers that an operation takes beside the chain's value.
struct Leaf {
  enum class Kind : std::uint8_t { none, constant, uniform, row, column, element };
  Kind kind = Kind::none;
  DType dtype = DType::f32;  ///< of the operand; 8-bit integers x of kind `element` stand for (x - less) * times
  float less = 0, times = 1;
  std::size_t operand = 0;  ///< of KernelCall::in
  std::int64_t stride = 0;
  float number = 0;
};

struct LeafStep {
  LeafOp op{};
  Leaf leaf, times;  ///< the leaf is their product where `times` is not `none`
};

/// The last steps to the value of an instruction, or, where that makes 8 bits, to what becomes integers.
struct LeafSteps {
  std::vector<LeafStep> steps;
  std::size_t of;  ///< the instruction from whose value they lead
};
LeafSteps leaf_steps(const KernelCall& call, const TileProgram& program, std::size_t last);

/// Whether an instruction gives the op's result, or, of a pointwise node, an operand of float32 in the result's order.
bool is_start(const KernelCall& call, const TileProgram& program, std::size_t instruction);

/// Where a block of the output lies among rows of `inner` elements; 0: the output is one row.
struct BlockStart {
  std::int64_t row = 0, column = 0, begin = 0, row_step = 0, inner = 0;

  /// Nothing where the block, `columns` wide, does not consist of parts of rows.
  static std::optional<BlockStart> of(std::int64_t inner, std::int64_t begin, std::int64_t row_step, std::int64_t rows,
                                      std::int64_t columns);
  /// A leaf of float32 seen from the block.
  LeafNumbers numbers(const KernelCall& call, const Leaf& leaf) const;
};

}  // namespace tern::pointwise
