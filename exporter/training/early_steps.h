// Where a training step can step parameters before the backward pass has ended: once their gradients are known and
// nothing reads the old values any more. So gradients need not be held until all are there.
#pragma once

#include <cstdint>
#include <vector>

#include "exporter/builder.h"

namespace tern {

/// Which parameters are stepped together: lists of places, each ascending. The lists that are ready last come first. A
/// list has gradients of some megabytes, so that a step of thousands of small tensors remains few loops.
std::vector<std::vector<std::size_t>> early_steps(Builder& b, const std::vector<ValueId>& params,
                                                  const std::vector<ValueId>& gradients);

/// The last node before `end` that reads one of the values, or a view of it; -1 if none does.
std::int64_t last_reader(const Function& f, std::size_t end, const std::vector<ValueId>& values);

}  // namespace tern
