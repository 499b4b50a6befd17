// What depends on the operator of PyTorch that a pointwise node was made of: subgradients, and formulas that differ
// from those of its lowering.
#pragma once

#include <string_view>

#include "schema/pointwise.h"

namespace tern {

/// Which of two equal operands of min and max gets the gradient.
enum class Ties {
  strict,     ///< none of a bound, but a NaN has one: relu and hardtanh have slope 0 at their bounds
  inclusive,  ///< the first operand, or the one that is bounded, unless it is a NaN: clamp has slope 1 at its bounds
  split,      ///< a half each: maximum
};
/// `op` is an operator's name, "aten.relu.default"; empty where it is not known. `fixed`: one of the two is a number.
Ties ties_of(std::string_view op, bool fixed);

/// Norms and deviations have slope 0 at 0, where their roots have an infinite one.
bool is_flat_at_zero(std::string_view op);

/// PyTorch has a formula for it that is not the derivative of what its forward pass computes, and Tern lacks it.
bool has_no_formula(std::string_view op);

/// The derivatives that PyTorch has for an operator as a whole, which holds a product f * log(x). They replace those of
/// the last instruction `core` of its expression.
struct OperatorSlope {
  std::string_view op;
  Scalar core, log;
  std::string_view by_argument, by_factor;  ///< over x and f; empty: f is no operand of its own
};
const OperatorSlope* find_operator_slope(std::string_view op);

}  // namespace tern
