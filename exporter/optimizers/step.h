// Adds one step of an optimizer to a function: one op over all parameters, but for Adafactor, whose statistics are
// reductions, and Muon, whose Newton-Schulz iteration is made of products.
#pragma once

#include <vector>

#include "exporter/builder.h"
#include "exporter/optimizers/options.h"

namespace tern::optimizers {

/// What a step reads beside parameters, gradients and states; each may be absent.
struct StepInputs {
  ValueId lr = kNoValue;          ///< a floating number that takes the place of OptimizerOptions::lr: for schedules
  ValueId grad_scale = kNoValue;  ///< a floating number that gradients are divided by
  ValueId found_inf = kNoValue;   ///< a floating number: where it is not 0, nothing changes
  std::vector<ValueId> masters;   ///< float32 copies of 16-bit parameters, which are then only written
};

struct StepResults {
  std::vector<ValueId> params, states, masters;  ///< new values, in the order of the operands
};

/// `states` in the order of optimizer_states(o, types of params), or the same with `wide`. Parameters and gradients
/// have one floating dtype each, and equal sizes. Fails where sizes, numbers of tensors or options do not fit. The
/// caller writes results back to states and inputs: then the runtime updates them in place.
StepResults optimizer_step(Builder& b, const OptimizerOptions& o, const std::vector<ValueId>& params,
                           const std::vector<ValueId>& grads, const std::vector<ValueId>& states,
                           const StepInputs& inputs = {});

/// The norm of all tensors together, as torch.nn.utils.get_total_norm has it: a float of no dimensions. `p`: 1, 2 or
/// infinity.
ValueId total_norm(Builder& b, const std::vector<ValueId>& tensors, double p = 2);
/// torch.nn.utils.clip_grad_norm_: gradients times min(1, max_norm / (norm + 1e-6)).
std::vector<ValueId> clip_by_norm(Builder& b, const std::vector<ValueId>& grads, double max_norm, double p = 2);
/// torch.nn.utils.clip_grad_value_: gradients within -limit..limit.
std::vector<ValueId> clip_by_value(Builder& b, const std::vector<ValueId>& grads, double limit);

}  // namespace tern::optimizers
