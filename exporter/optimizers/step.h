// Adds one optimizer step to a function: a single op over all parameters, except for Adafactor (reductions) and Muon
// (products of the Newton-Schulz iteration).
#pragma once

#include <vector>

#include "exporter/builder.h"
#include "exporter/optimizers/options.h"

namespace tern::optimizers {

/// Optional operands of a step besides parameters, gradients and states.
struct StepInputs {
  ValueId lr = kNoValue;          ///< floating number in place of OptimizerOptions::lr, for schedules
  ValueId grad_scale = kNoValue;  ///< floating divisor of the gradients
  ValueId found_inf = kNoValue;   ///< floating number: anything but 0 skips the step
  std::vector<ValueId> masters;   ///< float32 copies of 16-bit parameters; the parameters are then write-only
};

struct StepResults {
  std::vector<ValueId> params, states, masters;  ///< new values, in the order of the operands
};

/// `states` in the order of optimizer_states(o, types of params), or of the same with `wide`. Parameters have one
/// floating dtype, gradients too, in equal sizes. Fails for unfitting sizes, numbers of tensors or options. The caller
/// writes results back to states and inputs: the runtime then updates them in place.
StepResults optimizer_step(Builder& b, const OptimizerOptions& o, const std::vector<ValueId>& params,
                           const std::vector<ValueId>& grads, const std::vector<ValueId>& states,
                           const StepInputs& inputs = {});

/// Joint norm of all tensors, like torch.nn.utils.get_total_norm: a float of no dimensions. `p`: 1, 2 or infinity.
ValueId total_norm(Builder& b, const std::vector<ValueId>& tensors, double p = 2);
/// torch.nn.utils.clip_grad_norm_: gradients times min(1, max_norm / (norm + 1e-6)).
std::vector<ValueId> clip_by_norm(Builder& b, const std::vector<ValueId>& grads, double max_norm, double p = 2);
/// torch.nn.utils.clip_grad_value_: gradients within -limit..limit.
std::vector<ValueId> clip_by_value(Builder& b, const std::vector<ValueId>& grads, double limit);

}  // namespace tern::optimizers
