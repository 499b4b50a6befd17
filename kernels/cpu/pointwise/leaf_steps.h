// An epilogue as a sequence of operations on the op's result, each with a leaf: a number, or a number per row, column
// or element. The loops of leaf_chain.h and requantize.h are chosen by these steps.
#pragma once

#include <optional>
#include <vector>

#include "kernels/cpu/pointwise/leaf_loops.h"
#include "kernels/cpu/pointwise/tile_program.h"

namespace tern::pointwise {

/// The second operand of an operation on the chain's value.
struct Leaf {
  enum class Kind : std::uint8_t { none, constant, uniform, row, column, element };
  Kind kind = Kind::none;
  DType dtype = DType::f32;  ///< type of the operand; 8-bit integers x of kind `element` mean (x - less) * times
  float less = 0, times = 1;
  std::size_t operand = 0;  ///< index in KernelCall::in
  std::int64_t stride = 0;
  float number = 0;
};

struct LeafStep {
  LeafOp op{};
  Leaf leaf, times;  ///< `times` multiplies the leaf unless `none`
};

/// The last steps before the value of an instruction, or, for 8-bit results, before the conversion to integers.
struct LeafSteps {
  std::vector<LeafStep> steps;
  std::size_t start;  ///< instruction before the first step
};
LeafSteps leaf_steps(const KernelCall& call, const TileProgram& program, std::size_t last);

/// True if an instruction gives the op's result, or, in a pointwise node, a float32 operand in the result's order.
bool is_start(const KernelCall& call, const TileProgram& program, std::size_t instruction);

/// Position of an output block among rows of `inner` elements; 0: the output is a single row.
struct BlockStart {
  std::int64_t row = 0, column = 0, begin = 0, row_step = 0, inner = 0;

  /// Returns nullopt if the block, `columns` wide, does not consist of slices of rows.
  static std::optional<BlockStart> create(std::int64_t inner, std::int64_t begin, std::int64_t row_step,
                                          std::int64_t rows, std::int64_t columns);
  /// Returns the numbers of a float32 leaf for the block.
  LeafNumbers numbers(const KernelCall& call, const Leaf& leaf) const;
};

}  // namespace tern::pointwise
