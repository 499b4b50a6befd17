#include "schema/narrow_weights.h"

#include <algorithm>

#include "schema/op_record.h"

namespace tern {
namespace {

constexpr std::uint64_t kMinElements = 256;  // smallest element count of a weight

bool is_narrow(const State& s) {
  const DType t = s.type.dtype;
  if (s.type.quantized()) return true;
  if (t == DType::boolean || element_size(t) != 1 || s.type.rank() < 2 || s.is_mutable) return false;
  std::uint64_t bytes = 0;
  return byte_size(s.type, &bytes) && bytes * static_cast<std::uint64_t>(elements_per_byte(t)) >= kMinElements;
}

std::uint64_t elements(const TensorType& t) {
  std::uint64_t n = 1;
  for (const Dim& d : t.shape) {
    if (!d.is_const() || d.value() < 0 || __builtin_mul_overflow(n, static_cast<std::uint64_t>(d.value()), &n))
      return 0;
  }
  return n;
}

}  // namespace

NarrowWeights::NarrowWeights(const Program& program, const Function& function) : states_(function.values.size(), -1) {
  for (const FunctionInput& input : function.inputs) {
    if (input.kind == FunctionInput::Kind::state && input.value != kNoValue && is_narrow(program.states[input.state]))
      states_[static_cast<std::size_t>(input.value)] = input.state;
  }
  for (const Node& n : function.nodes) {
    if (!is_view(n.op) || n.inputs.empty() || n.outputs.empty() || n.outputs[0] == kNoValue) continue;
    states_[static_cast<std::size_t>(n.outputs[0])] = state(n.inputs[0]);
  }
}

int NarrowWeights::operand(const Node& n) const {
  const auto found = std::ranges::find_if(n.inputs, [&](ValueId v) { return state(v) >= 0; });
  return found == n.inputs.end() ? -1 : static_cast<int>(found - n.inputs.begin());
}

int NarrowWeights::widened(const Function& f, const Node& n) const {
  if (n.op == Op::dequantize) return 0;
  if (n.op != Op::pointwise || n.outputs.empty() || n.outputs[0] == kNoValue) return -1;
  const auto type = [&](ValueId v) -> const TensorType& { return f.values[static_cast<std::size_t>(v)].type; };
  const TensorType& result = type(n.outputs[0]);
  const int i = operand(n);
  const bool reads_state = i >= 0 && is_floating(result.dtype) && element_size(result.dtype) > 1 &&
                           elements(result) >= elements(type(n.inputs[static_cast<std::size_t>(i)]));
  return reads_state ? i : -1;
}

}  // namespace tern
