// A step over several batches: `accumulate` and `apply`.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "exporter/training/parameters.h"
#include "exporter/training/update.h"

namespace tern {

/// `accumulate`: function `step` as it is, without an update, which adds its gradients to states; its result is `loss`.
/// `apply`: an update with their mean, over the ranks too where these share batches.
void add_accumulation(Program& program, std::uint32_t step, ValueId loss,
                      const std::vector<TrainedParameter>& parameters, const std::vector<ValueId>& gradients,
                      Update& update, std::optional<std::uint64_t> bucket);

/// The results of a method that takes steps: each of them may be kNoValue.
void set_step_results(Function& f, ValueId loss, ValueId norm);

}  // namespace tern
