// Permutations that take another one back disappear: what a weight's transposition becomes in the backward function.
#pragma once

#include <vector>

#include "exporter/gradients/rule.h"

namespace tern {

/// c.b.permute(x, axes); where x itself is the result of a permute, one node of both together, or none.
ValueId permuted(GradientCall& c, ValueId x, std::vector<std::int64_t> axes);
/// Whether x is a matrix that a permute made.
bool is_transposed(GradientCall& c, ValueId x);
/// The last two axes in turn.
ValueId transposed_matrix(GradientCall& c, ValueId x);

}  // namespace tern
