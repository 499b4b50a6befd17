// Slices that are one operand of a concatenation.
#include <map>

#include "exporter/passes/passes.h"
#include "schema/def_use.h"

namespace tern {
namespace {

std::int64_t counted_axis(const Node& n, const TensorType& t) {
  const std::int64_t axis = n.integer(AttrKey::axis);
  return axis < 0 ? axis + t.rank() : axis;
}

/// The operand of `concat` that slice `n` equals, or kNoValue.
ValueId sliced_operand(const Function& f, const Node& n, const Node& concat) {
  const auto type = [&](ValueId v) -> const TensorType& { return f.values[static_cast<std::size_t>(v)].type; };
  const TensorType& joined = type(concat.outputs[0]);
  const std::int64_t axis = counted_axis(concat, joined);
  if (axis != counted_axis(n, joined) || n.integer(AttrKey::step) != 1) return kNoValue;
  const Dim start = n.dim(AttrKey::start), length = n.dim(AttrKey::length);
  Dim first = Dim(0);
  for (const ValueId v : concat.inputs) {
    const Dim size = type(v).shape[static_cast<std::size_t>(axis)];
    if (!size.is_const() || !start.is_const() || !first.is_const()) return kNoValue;
    if (start == first && length == size) return v;
    first = Dim(first.value() + size.value());
  }
  return kNoValue;
}

}  // namespace

void read_joined_operands(Program& program) {
  for (Function& f : program.functions) {
    const DefUse def_use(f);
    std::map<ValueId, ValueId> operands;  // each slice's, if it equals one
    for (Node& n : f.nodes) {
      for (ValueId& v : n.inputs) {
        if (const auto found = operands.find(v); found != operands.end()) v = found->second;
      }
      if (n.op != Op::slice) continue;
      const Node* const source = def_use.producing_node(f, n.inputs[0]);
      if (source == nullptr || source->op != Op::concat) continue;
      if (const ValueId v = sliced_operand(f, n, *source); v != kNoValue) operands[n.outputs[0]] = v;
    }
  }
}

}  // namespace tern
