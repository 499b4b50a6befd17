// Interface between step.cpp and the optimizers of several nodes.
#pragma once

#include <map>
#include <string_view>
#include <vector>

#include "exporter/optimizers/step.h"

namespace tern::optimizers {

/// Operands and results of a step by name of the state; `parameter` as in StateTensor.
struct Step {
  Builder& b;
  const OptimizerOptions& o;
  const std::vector<ValueId>& params;
  const std::vector<ValueId>& grads;
  const StepInputs& inputs;
  std::map<std::string_view, std::vector<ValueId>> states;  ///< lists one value per parameter with the state, in order
};

/// New values of the states, by name, and of the parameters.
struct NewValues {
  std::vector<ValueId> params, masters;
  std::map<std::string_view, std::vector<ValueId>> states;
};

/// Adds a single-op optimizer over all parameters.
NewValues one_op(const Step& s);
NewValues adafactor_step(const Step& s);
NewValues muon_step(const Step& s);
/// sgd with momentum and dampening.
NewValues dampened_step(const Step& s);

/// Gradients after division by grad_scale and negation by maximize.
std::vector<ValueId> seen_gradients(const Step& s);
/// `old_value` if found_inf is set, else `v`.
ValueId unless_infinite(const Step& s, ValueId old_value, ValueId v);
/// The rate as a value of `dtype` without dimensions.
ValueId rate(const Step& s, DType dtype);

}  // namespace tern::optimizers
