// A step over several batches: `accumulate` and `apply`.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "exporter/training/parameters.h"
#include "exporter/training/update.h"

namespace tern {

/// `accumulate`: function `step` without an update, adding its gradients to states; returns `loss`. `apply`: an update
/// with the gradients' mean, also over the ranks of shared batches.
void add_accumulation(Program& program, std::uint32_t step, ValueId loss,
                      const std::vector<TrainedParameter>& parameters, const std::vector<ValueId>& gradients,
                      Update& update, std::optional<std::uint64_t> bucket);

/// Results of a method with steps; each may be kNoValue.
void set_step_results(Function& f, ValueId loss, ValueId norm);

}  // namespace tern
