#include <algorithm>

#include "runtime/fuse/expression.h"
#include "runtime/fuse/uses.h"

namespace tern {

bool merge_operands(FunctionInFusion& f, std::uint32_t i) {
  Node& n = f.f.nodes[i];
  if (f.has_pairs(n)) return false;
  const Dims& shape = f.type(n.outputs[0]).shape;
  const NodePosition operands_end = f.operands_position(n.inputs);
  std::vector<std::uint32_t> merged;
  std::vector<bool> inlined(n.inputs.size());
  std::size_t instructions = n.expr.code.size(), operands = n.inputs.size();
  for (std::size_t k = 0; k < n.inputs.size(); ++k) {
    const std::int32_t found = f.only_producer(n.inputs[k], i);
    if (found < 0) continue;
    const auto p = static_cast<std::uint32_t>(found);
    const Node& producer = f.f.nodes[p];
    if (producer.op != Op::pointwise || f.has_pairs(producer) || !f.may_move(p, operands_end)) continue;
    // Skips broadcast operands: merging would compute them repeatedly.
    if (f.type(n.inputs[k]).shape != shape && !f.one_element(n.inputs[k])) continue;
    if (std::ranges::find(merged, p) == merged.end()) {
      if (instructions + producer.expr.code.size() > kMaxFusedInstructions ||
          operands + producer.inputs.size() > kMaxFusedOperands)
        continue;
      instructions += producer.expr.code.size();
      operands += producer.inputs.size();
      merged.push_back(p);
    }
    inlined[k] = true;
  }
  if (merged.empty()) return false;

  ExpressionBuilder b;
  std::vector<std::uint16_t> loads;
  bool sized = n.has(AttrKey::sizes);
  for (std::size_t k = 0; k < n.inputs.size(); ++k) {
    const ValueId v = n.inputs[k];
    if (!inlined[k]) {
      loads.push_back(b.load(v, f.type(v).dtype));
      continue;
    }
    // Inserts the producer's operands in its position: the node's first operand is the memory for updating a state in
    // place.
    const Node& producer = f.f.nodes[static_cast<std::size_t>(f.value_use(v).producer)];
    std::vector<std::uint16_t> inner;
    for (ValueId o : producer.inputs) inner.push_back(b.load(o, f.type(o).dtype));
    loads.push_back(b.append(producer.expr, inner, f.type(v).shape != shape));
    sized = sized || producer.has(AttrKey::sizes);
  }
  n.expr = b.finish(b.append(n.expr, loads));
  if (sized) n.set(AttrKey::sizes, shape);  // the operands alone may no longer imply the sizes
  f.merge_nodes(i, merged, b.operands());
  f.positions[i] = {operands_end[0], i, 0};
  return true;
}

}  // namespace tern
