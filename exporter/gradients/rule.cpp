#include "exporter/gradients/rule.h"

#include <fmt/format.h>
#include <tern/error.h>

#include "exporter/gradients/differentiate.h"

namespace tern {

const Node* Producers::producer_of(const Function& function, ValueId value) {
  constexpr std::size_t kNone = ~std::size_t{0};
  nodes_.resize(function.values.size(), kNone);
  for (; indexed_nodes_ < function.nodes.size(); ++indexed_nodes_) {
    const std::vector<ValueId>& outputs = function.nodes[indexed_nodes_].outputs;
    if (outputs.size() == 1 && outputs[0] != kNoValue) nodes_[static_cast<std::size_t>(outputs[0])] = indexed_nodes_;
  }
  const std::size_t found = value == kNoValue ? kNone : nodes_[static_cast<std::size_t>(value)];
  return found == kNone || function.nodes[found].outputs.size() != 1 ? nullptr : &function.nodes[found];
}

GradientCall::GradientCall(Builder& builder, std::size_t node_index, std::vector<ValueId> grads,
                           std::vector<bool> needs_gradient, BackwardFunctions& backward_functions,
                           Producers& node_producers)
    : b(builder),
      backward(backward_functions),
      producers(node_producers),
      index(node_index),
      node(builder.function().nodes[node_index]),
      grads_(std::move(grads)),
      operand_gradients_(node.inputs.size(), kNoValue),
      needs_gradient_(std::move(needs_gradient)) {}

ValueId GradientCall::result(std::size_t i) {
  if (i < node.outputs.size() && node.outputs[i] != kNoValue) {
    return b.function().nodes[index].outputs[i];
  }
  std::vector<ValueId> outputs = b.function().nodes[index].outputs;  // an earlier call may have added the output
  if (i < outputs.size() && outputs[i] != kNoValue) return outputs[i];
  std::vector<const TensorType*> inputs;
  for (ValueId v : node.inputs) inputs.push_back(v == kNoValue ? nullptr : &b.type(v));
  const std::vector<TensorType> types = infer(b.program(), b.pool(), node, inputs);
  outputs.resize(types.size(), kNoValue);
  outputs[i] = b.add_value(types[i]);
  b.function().nodes[index].outputs = outputs;
  return outputs[i];
}

ValueId GradientCall::grad_or_zeros(std::size_t i) {
  return grad(i) != kNoValue ? grad(i) : zeros_like(b, result(i));
}

void GradientCall::add_gradient(std::size_t i, ValueId gradient) {
  if (!needs_gradient(i) || gradient == kNoValue) return;
  operand_gradients_[i] = add_gradients(b, operand_gradients_[i], gradient_like(b, gradient, node.inputs[i]));
}

ValueId GradientCall::expr(std::string_view text, std::vector<ExprArg> args, ValueId like) {
  return b.expr(text, std::move(args), compute_type(b.dtype(like)));
}

ValueId GradientCall::conj(ValueId x) {
  return is_complex(b.dtype(x)) ? b.expr("conj(x)", {{"x", x}}, b.dtype(x)) : x;
}

std::size_t GradientCall::axis(AttrKey key) {
  return static_cast<std::size_t>(b.normal_axis(node.inputs.at(0), node.integer(key)));
}

std::string_view GradientCall::operator_name() const {
  if (node.origin < 0) return {};
  const std::string& op = b.program().origins[static_cast<std::size_t>(node.origin)].op;
  return op.starts_with(kGradientOf) ? std::string_view{} : op;
}

void GradientCall::refuse(const std::string& reason) const {
  fail(ErrorCode::unsupported,
       fmt::format("no gradient of {}: {}", describe(b.program(), b.function(), index), reason));
}

}  // namespace tern
