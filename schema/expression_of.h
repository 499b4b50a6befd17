// Parts of pointwise expressions.
#pragma once

#include <span>
#include <vector>

#include "schema/pointwise.h"

namespace tern {

/// Copies the instruction with operands renumbered: operand k becomes number[k].
Instruction renumbered(Instruction i, std::span<const std::uint16_t> number);

/// Returns the expression of instruction `result`: the instructions that it needs, in the same order.
PointwiseExpr expression_of(const std::vector<Instruction>& code, std::size_t result);

}  // namespace tern
