#include "exporter/gradients/apply_rule.h"

#include "exporter/gradients/backward_functions.h"
#include "exporter/gradients/registry.h"

namespace tern {

std::vector<ValueId> apply_gradient_rule(Builder& b, const Node& forward, std::vector<ValueId> grads,
                                         std::vector<bool> needs_gradient) {
  if (needs_gradient.empty()) needs_gradient.assign(forward.inputs.size(), true);
  // Rules take the number of a node. This one stands in the function until its rule is done.
  const std::size_t index = b.function().nodes.size();
  b.function().nodes.push_back(forward);
  BackwardFunctions functions;
  Producers producers;
  GradientCall call(b, index, std::move(grads), std::move(needs_gradient), functions, producers);
  find_gradient_rule(forward.op)(call);
  std::vector<Node>& nodes = b.function().nodes;
  nodes.erase(nodes.begin() + static_cast<std::ptrdiff_t>(index));
  std::vector<ValueId> gradients;
  for (std::size_t i = 0; i < forward.inputs.size(); ++i) gradients.push_back(call.operand_gradient(i));
  return gradients;
}

}  // namespace tern
