// What depends on the operator of PyTorch that a pointwise node was made of: subgradients, and formulas that differ
// from those of its lowering.
#pragma once

#include <string_view>

namespace tern {

/// Which of two equal operands of min and max gets the gradient.
enum class Ties {
  strict,     ///< none of a bound: relu and hardtanh have slope 0 there
  inclusive,  ///< the first operand: clamp has slope 1 at its bounds
  split,      ///< a half each: maximum
};
/// `op` is an operator's name, "aten.relu.default"; empty where it is not known.
Ties ties_of(std::string_view op);

/// Norms and deviations have slope 0 at 0, where their roots have an infinite one.
bool is_flat_at_zero(std::string_view op);

/// The derivatives that PyTorch has for an operator as a whole, for operands a and b. One operand: for_second is empty.
struct OperatorSlope {
  std::string_view op, for_first, for_second;
};
const OperatorSlope* find_operator_slope(std::string_view op);

}  // namespace tern
