#include "exporter/gradients/detach.h"

#include <algorithm>

#include "exporter/gradients/notes.h"
#include "exporter/rewrite.h"

namespace tern {
namespace {

/// Returns the last operand unchanged.
ValueId marked(Builder& b, std::vector<ValueId> inputs) {
  Instruction load;
  load.op = Scalar::load;
  load.dtype = b.dtype(inputs.back());
  load.integer = static_cast<std::int64_t>(inputs.size()) - 1;
  Node n;
  n.op = Op::pointwise;
  n.inputs = std::move(inputs);
  n.expr.code = {load};
  const ValueId y = b.add(std::move(n)).front();
  b.function().nodes.back().annotations.push_back({std::string(kDetachedNote), true});
  return y;
}

}  // namespace

ValueId detached(Builder& b, ValueId x) {
  return marked(b, {x});
}

ValueId written_detached(Builder& b, ValueId x, ValueId view) {
  return marked(b, {x, view});
}

bool is_detached(const Node& node) {
  return node.op == Op::pointwise && !node.inputs.empty() && node.expr.code.size() == 1 &&
         node.expr.code[0].op == Scalar::load &&
         std::ranges::any_of(node.annotations, [](const Annotation& a) { return a.key == kDetachedNote; });
}

bool flows_to(const Node& node, std::size_t i) {
  return !is_detached(node) || (node.inputs.size() == 2 && i == 0);
}

void remove_detached(Program& program) {
  for (Function& f : program.functions) {
    // Replacement of each value. Nodes are in order, so one pass finds the end of each chain.
    std::vector<ValueId> stands(f.values.size());
    for (std::size_t v = 0; v < stands.size(); ++v) stands[v] = static_cast<ValueId>(v);
    const auto replace = [&](ValueId& v) {
      if (v != kNoValue) v = stands[static_cast<std::size_t>(v)];
    };
    for (Node& n : f.nodes) {
      std::ranges::for_each(n.inputs, replace);
      if (is_detached(n)) stands[static_cast<std::size_t>(n.outputs[0])] = n.inputs.back();
    }
    for (FunctionOutput& o : f.outputs) replace(o.value);
    for (WriteBack& w : f.writebacks) replace(w.value);
    std::erase_if(f.nodes, is_detached);
  }
}

}  // namespace tern
