// Steps parameters before the end of the backward pass: once their gradients are known and no later node reads the old
// values. Gradients then need not be held until all are known.
#pragma once

#include <cstdint>
#include <vector>

#include "exporter/builder.h"

namespace tern {

/// Groups parameters into joint steps: lists of ascending indices, the last-ready list first. A list's gradients have
/// some megabytes: a step of thousands of small tensors remains a few loops.
std::vector<std::vector<std::size_t>> early_steps(Builder& b, const std::vector<ValueId>& params,
                                                  const std::vector<ValueId>& gradients);

/// Last node before `end` reading one of the values, or a view of one; -1 if none.
std::int64_t last_reader(const Function& f, std::size_t end, const std::vector<ValueId>& values);

}  // namespace tern
