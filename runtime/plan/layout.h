// Memory order of axes for a step's results and operands.
#pragma once

#include "runtime/plan/draft.h"

namespace tern {

/// Tells an EstimateObserver of the plan the estimates for node `i`.
void report_costs(const Draft& d, std::uint32_t i, const KernelCall& call);
/// True if the node produces a channels-last result.
bool makes_channels_last(Draft& d, std::uint32_t i, const Node& n, const Kernel& kernel);
/// Returns `v` with channels last, copied if necessary.
PlannedOperand channels_last_operand(Draft& d, ValueId v, std::uint32_t node);
/// Gives a result such strides that its only reader, a permutation, is contiguous.
void lie_for_reader(const Draft& d, ValueId v, TensorView& view);

}  // namespace tern
