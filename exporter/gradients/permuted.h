// Cancels inverse permutations, such as a weight's transposition in the backward function.
#pragma once

#include <vector>

#include "exporter/gradients/rule.h"

namespace tern {

/// Computes c.b.permute(x, axes); merges with a permute producing x, or cancels both.
ValueId permuted(GradientCall& c, ValueId x, std::vector<std::int64_t> axes);
/// True if a permute produced matrix x.
bool is_transposed(GradientCall& c, ValueId x);
/// The last two axes in turn.
ValueId transposed_matrix(GradientCall& c, ValueId x);

}  // namespace tern
