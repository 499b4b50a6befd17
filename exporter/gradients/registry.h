// Which ops have a gradient, and why others have none.
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
    zero,     ///< nothing flows to its operands: results are positions, booleans, or steps
    refused,  ///< a gradient that reaches it is an error
  } kind;
  std::string_view reason;  ///< "its results are positions"
};
std::span<const NoGradient> ops_without_gradient();
/// Null for an op that has a rule, and for one that has none yet.
const NoGradient* find_no_gradient(Op op);

/// "yes", "none flows: its results are positions", "refused: ..."; for people.
std::string gradient_text(Op op);

}  // namespace tern
