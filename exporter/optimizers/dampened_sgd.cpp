// SGD with momentum and dampening. PyTorch's first step sets the momentum buffer to the gradient; later steps add (1 -
// dampening) times the gradient. The op dampens every gradient, so the op's gradients are scaled here beforehand.
#include "exporter/optimizers/parts.h"

namespace tern::optimizers {

NewValues dampened_step(const Step& s) {
  Builder& b = s.b;
  const ValueId steps = s.states.at("step").at(0);
  const std::vector<ValueId> decayed_gradients = seen_gradients(s);
  std::vector<ValueId> grads;
  for (std::size_t i = 0; i < decayed_gradients.size(); ++i) {
    const ValueId p = s.inputs.masters.empty() ? s.params[i] : s.inputs.masters[i];
    grads.push_back(
        b.expr("(n > 0 ? k : 1) * (g + d * p)",
               {{"n", steps}, {"k", 1 - s.o.dampening}, {"g", decayed_gradients[i]}, {"d", s.o.weight_decay}, {"p", p}},
               compute_type(b.dtype(p)), b.dtype(decayed_gradients[i])));
  }
  OptimizerOptions o = s.o;
  o.dampening = o.weight_decay = 0;
  o.maximize = false;
  StepInputs inputs = s.inputs;
  inputs.grad_scale = kNoValue;
  Step fused_step{b, o, s.params, grads, inputs, s.states};
  fused_step.states.erase("step");
  NewValues new_values = one_op(fused_step);
  new_values.states["step"] = {unless_infinite(s, steps, b.expr("n + 1", {{"n", steps}}, b.dtype(steps)))};
  return new_values;
}

}  // namespace tern::optimizers
