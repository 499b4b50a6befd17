// Folding of batch norms into the weight of the convolution before them.
#include <cstring>

#include "exporter/builder.h"
#include "exporter/constants.h"
#include "exporter/passes/fold/fold.h"
#include "schema/def_use.h"

namespace tern {
namespace {

/// True if the state is a dense weight of float32 that a single node of the program reads.
bool is_own_weight(const Program& program, std::uint32_t state) {
  if (!is_own_float_storage(program, program.states[state])) return false;
  std::size_t readers = 0;
  for (const Function& f : program.functions) {
    for (const FunctionInput& input : f.inputs) {
      if (input.kind == FunctionInput::Kind::state && input.state == state)
        readers += DefUse(f).read_count(input.value);
    }
  }
  return readers == 1;
}

std::vector<std::byte> scaled(std::span<const std::byte> bytes, const std::vector<double>& factor) {
  std::vector<std::byte> result(bytes.begin(), bytes.end());
  const std::size_t weights_per_channel = factor.empty() ? 0 : bytes.size() / sizeof(float) / factor.size();
  for (std::size_t i = 0; i < weights_per_channel * factor.size(); ++i) {
    float v = 0;
    std::memcpy(&v, bytes.data() + i * sizeof(float), sizeof v);
    v = static_cast<float>(v * factor[i / weights_per_channel]);
    std::memcpy(result.data() + i * sizeof(float), &v, sizeof v);
  }
  return result;
}

}  // namespace

bool scale_convolution(Program& program, std::uint32_t function, std::size_t norm, const std::vector<double>& factor,
                       const std::vector<double>& offset, std::vector<std::uint32_t>& states) {
  Function& f = program.functions[function];
  const ValueId result = f.nodes[norm].inputs[0];
  const DefUse def_use(f);
  const Node* const producing_convolution = def_use.producing_node(f, result);
  if (producing_convolution == nullptr || producing_convolution->op != Op::convolution ||
      producing_convolution->integer(AttrKey::transposed) != 0 || def_use.read_count(result) != 1)
    return false;
  const auto producer = static_cast<std::size_t>(def_use.producer(result));
  if (f.values[static_cast<std::size_t>(result)].type.dtype != DType::f32) return false;
  const FunctionInput* weight = state_input(f, producing_convolution->inputs[1]);
  if (weight == nullptr || !is_own_weight(program, weight->state)) return false;
  const State& state = program.states[weight->state];
  if (state.type.shape[0] != Dim(static_cast<std::int64_t>(factor.size()))) return false;
  std::vector<double> shift = offset;
  if (producing_convolution->inputs.size() > 2 && producing_convolution->inputs[2] != kNoValue) {
    const FunctionInput* bias = state_input(f, producing_convolution->inputs[2]);
    if (bias == nullptr || program.states[bias->state].is_mutable) return false;
    const auto numbers = constant_numbers(program, bias->state);
    if (!numbers || numbers->size() != factor.size()) return false;
    states.push_back(bias->state);
    for (std::size_t k = 0; k < factor.size(); ++k) shift[k] += (*numbers)[k] * factor[k];
  }
  states.push_back(weight->state);
  extendable_source(program).replace(
      state.storage, [factor](std::span<const std::byte> old_bytes) { return scaled(old_bytes, factor); });
  const std::vector<float> floats(shift.begin(), shift.end());
  Builder b(program, function);
  const ValueId bias = add_constant(b, DType::f32, {static_cast<std::int64_t>(factor.size())}, floats.data());
  Function& g = program.functions[function];
  g.nodes[producer].inputs.resize(3, kNoValue);
  g.nodes[producer].inputs[2] = bias;
  g.nodes[producer].outputs = g.nodes[norm].outputs;
  g.nodes.erase(g.nodes.begin() + static_cast<std::ptrdiff_t>(norm));
  return true;
}

}  // namespace tern
