// Folds batch norms of a convolution's result into its weight.
#include <algorithm>
#include <cstring>

#include "exporter/builder.h"
#include "exporter/constants.h"
#include "exporter/fold/fold.h"

namespace tern {
namespace {

/// Number of reads of a value in the function, results and write-backs included.
int uses(const Function& f, ValueId v) {
  int count = 0;
  for (const Node& n : f.nodes) count += static_cast<int>(std::ranges::count(n.inputs, v));
  for (const FunctionOutput& o : f.outputs) count += o.value == v ? 1 : 0;
  for (const WriteBack& w : f.writebacks) count += w.value == v ? 1 : 0;
  return count;
}

/// True if the state is a dense float32 weight with a single reading node in the program.
bool is_own_weight(const Program& program, std::uint32_t state) {
  if (!is_own_float_storage(program, program.states[state])) return false;
  int readers = 0;
  for (const Function& f : program.functions) {
    for (const FunctionInput& in : f.inputs) {
      if (in.kind == FunctionInput::Kind::state && in.state == state) readers += uses(f, in.value);
    }
  }
  return readers == 1;
}

std::vector<std::byte> scaled(std::span<const std::byte> bytes, const std::vector<double>& by) {
  std::vector<std::byte> result(bytes.begin(), bytes.end());
  const std::size_t each = by.empty() ? 0 : bytes.size() / sizeof(float) / by.size();
  for (std::size_t i = 0; i < each * by.size(); ++i) {
    float v = 0;
    std::memcpy(&v, bytes.data() + i * sizeof(float), sizeof v);
    v = static_cast<float>(v * by[i / each]);
    std::memcpy(result.data() + i * sizeof(float), &v, sizeof v);
  }
  return result;
}

}  // namespace

bool scale_convolution(Program& program, std::uint32_t function, std::size_t norm, const std::vector<double>& by,
                       const std::vector<double>& plus, std::vector<std::uint32_t>& states) {
  Function& f = program.functions[function];
  const ValueId result = f.nodes[norm].inputs[0];
  const auto made =
      std::ranges::find_if(f.nodes, [&](const Node& n) { return n.op == Op::convolution && n.outputs[0] == result; });
  if (made == f.nodes.end() || uses(f, result) != 1 || made->integer(AttrKey::transposed) != 0) return false;
  if (f.values[static_cast<std::size_t>(result)].type.dtype != DType::f32) return false;
  const auto at = static_cast<std::size_t>(made - f.nodes.begin());
  const FunctionInput* weight = state_input(f, made->inputs[1]);
  if (weight == nullptr || !is_own_weight(program, weight->state)) return false;
  const State& state = program.states[weight->state];
  if (state.type.shape[0] != Dim(static_cast<std::int64_t>(by.size()))) return false;
  std::vector<double> shift = plus;
  if (made->inputs.size() > 2 && made->inputs[2] != kNoValue) {
    const FunctionInput* bias = state_input(f, made->inputs[2]);
    if (bias == nullptr || program.states[bias->state].is_mutable) return false;
    const auto numbers = constant_numbers(program, bias->state);
    if (!numbers || numbers->size() != by.size()) return false;
    states.push_back(bias->state);
    for (std::size_t k = 0; k < by.size(); ++k) shift[k] += (*numbers)[k] * by[k];
  }
  states.push_back(weight->state);
  extendable_source(program).replace(state.storage,
                                     [by](std::span<const std::byte> before) { return scaled(before, by); });
  const std::vector<float> floats(shift.begin(), shift.end());
  Builder b(program, function);
  const ValueId bias = add_constant(b, DType::f32, {static_cast<std::int64_t>(by.size())}, floats.data());
  Function& g = program.functions[function];
  g.nodes[at].inputs.resize(3, kNoValue);
  g.nodes[at].inputs[2] = bias;
  g.nodes[at].outputs = g.nodes[norm].outputs;
  g.nodes.erase(g.nodes.begin() + static_cast<std::ptrdiff_t>(norm));
  return true;
}

}  // namespace tern
