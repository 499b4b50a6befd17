// Gradients specific to the PyTorch operator behind a pointwise node: subgradients, and formulas different from the
// derivative of the lowering.
#pragma once

#include <string_view>

#include "schema/pointwise.h"

namespace tern {

/// Gradient of min and max for two equal operands.
enum class Ties {
  strict,     ///< no slope at the bound, except for NaN: relu and hardtanh have slope 0 at their bounds
  inclusive,  ///< the first or the bounded operand, except for NaN: clamp has slope 1 at its bounds
  split,      ///< a half each: maximum
};
/// `op` is an operator's name, "aten.relu.default", or empty if unknown. `fixed`: an operand is a number.
Ties ties_of(std::string_view op, bool fixed);

/// True for norms and deviations: slope 0 at 0, in place of the root's infinite slope.
bool is_flat_at_zero(std::string_view op);

/// True if PyTorch's formula differs from the derivative of its forward pass, and Tern lacks the formula.
bool has_no_formula(std::string_view op);

/// PyTorch's derivatives for a whole operator with a product f * log(x), in place of the derivatives of the last
/// instruction `core` of its expression.
struct OperatorSlope {
  std::string_view op;
  Scalar core, log;
  std::string_view argument_slope, factor_slope;  ///< over x and f; empty: f is no operand
};
const OperatorSlope* find_operator_slope(std::string_view op);

}  // namespace tern
