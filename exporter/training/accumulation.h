// A step over several batches: `accumulate` and `apply`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "exporter/training/parameters.h"
#include "exporter/training/update.h"

namespace tern {

/// Adds two methods. `accumulate` is function `step` without the update: it adds the gradients to states and returns
/// `loss`. `apply` updates the parameters with the mean of the gradients, over the ranks too if `bucket_bytes` is set
/// (the size of a bucket of mean_gradients, data_parallel.h). `step_name`: name of a named step, whose methods are
/// `accumulate_STEP` and `apply_STEP`; else empty. `float32_sums`: gradients of 16 bits add up in float32.
void add_accumulation(Program& program, std::uint32_t step, const std::string& step_name, ValueId loss,
                      const std::vector<TrainedParameter>& parameters, const std::vector<ValueId>& gradients,
                      Update& update, std::optional<std::uint64_t> bucket_bytes, bool float32_sums = false);

/// Replaces the results of a method by those of a step; kNoValue omits a result.
void set_step_results(Function& method, ValueId loss, ValueId gradient_norm);

}  // namespace tern
