// Ops with a gradient, and the others' reasons.
#pragma once

#include <span>
#include <string_view>

#include "exporter/gradients/rule.h"

namespace tern {

/// The op's rule, or null.
GradientRule find_gradient_rule(Op op);

/// An op without a rule.
struct NoGradient {
  Op op;
  enum class Kind {
    zero,     ///< operands get no gradient: results are positions, booleans, or steps
    refused,  ///< an arriving gradient is an error
  } kind;
  std::string_view reason;  ///< "its results are positions"
};
std::span<const NoGradient> ops_without_gradient();
/// Null for ops with a rule, and for ops still without one.
const NoGradient* find_no_gradient(Op op);

/// Text for messages: "yes", "none flows: its results are positions", "refused: ...".
std::string gradient_text(Op op);

}  // namespace tern
