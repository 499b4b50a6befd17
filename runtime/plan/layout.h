// The order of axes in memory that a step's results take, and that its operands are brought to.
#pragma once

#include "runtime/plan/draft.h"

namespace tern {

/// Whether the node makes its result with channels last.
bool makes_channels_last(Draft& d, std::uint32_t i, const Node& n, const Kernel& kernel);
/// A version of `v` with channels last, copied if need be.
Operand with_channels_last(Draft& d, ValueId v, std::uint32_t node);
/// Gives a result the strides with which the permutation that alone reads it is contiguous.
void lie_for_reader(const Draft& d, ValueId v, TensorView& view);

}  // namespace tern
