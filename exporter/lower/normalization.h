// Helpers and tables of the lowerings of normalizations.
#pragma once

#include <span>

#include "exporter/lower/reduction.h"

namespace tern {

std::span<const Lowering> batch_norm_lowerings();  ///< batch_norm in training and evaluation, instance_norm

/// y, mean and rstd of Op::group_norm for a call with the arguments input, weight, bias and eps.
std::vector<ValueId> group_norm_node(Builder& b, const Call& c, std::int64_t groups, DType statistics);

}  // namespace tern
