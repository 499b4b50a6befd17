#include "tools/verify/weights.h"

#include <algorithm>

#include "schema/op_record.h"

namespace tern {
namespace {

bool reads_a_weight(const Node& n) {
  const bool form = is_view(n.op) || n.op == Op::pointwise || n.op == Op::dequantize;
  return form && !n.inputs.empty() && n.dims(AttrKey::symbols).empty();
}

}  // namespace

WeightValues::WeightValues(const Function& f) : is_weight_(f.values.size()), def_use_(f), function_(f) {
  for (const FunctionInput& input : f.inputs) {
    if (input.kind == FunctionInput::Kind::state && input.value != kNoValue)
      is_weight_[static_cast<std::size_t>(input.value)] = true;
  }
  for (const Node& n : f.nodes) {
    const bool weight = reads_a_weight(n) && std::ranges::all_of(n.inputs, [this](ValueId v) { return contains(v); });
    for (ValueId v : n.outputs) {
      if (v != kNoValue) is_weight_[static_cast<std::size_t>(v)] = weight;
    }
  }
}

}  // namespace tern
