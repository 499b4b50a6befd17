#include "tools/conform/gradients.h"

#include <fmt/format.h>
#include <tern/error.h>

#include "exporter/gradients/differentiate.h"

namespace tern {
namespace {

std::uint32_t entry_function(const Program& program) {
  for (std::size_t f = 0; f < program.functions.size(); ++f) {
    if (program.functions[f].entry) return static_cast<std::uint32_t>(f);
  }
  fail(ErrorCode::bad_file, "the program has no function");
}

/// cos(0, 1, 2, ...) in the shape of the value.
ValueId weights(Builder& b, ValueId value) {
  const DType t = b.dtype(value);
  const ValueId numbers = b.iota(b.numel(value), t);
  return b.reshape(b.expr("cos(x)", {{"x", numbers}}, t), Dims(b.shape(value)));
}

}  // namespace

void add_case_gradients(Program& program, const ConformCase& c) {
  Builder b(program, entry_function(program));
  const CaseCall& call = c.ranks.at(0).at(0);
  std::vector<GradientSeed> seeds;
  for (const auto& [k, golden] : call.outputs) {
    const auto index = static_cast<std::size_t>(k);
    if (index >= b.function().outputs.size()) fail(ErrorCode::bad_file, fmt::format("output {} is missing", k));
    const ValueId v = b.function().outputs[index].value;
    if (v != kNoValue && is_floating(b.dtype(v))) seeds.push_back({v, weights(b, v)});
  }
  std::vector<ValueId> inputs, wrt;
  for (const FunctionInput& input : b.function().inputs) {
    if (input.kind != FunctionInput::Kind::state) inputs.push_back(input.value);
  }
  for (const auto& [k, golden] : call.gradients) {
    const auto index = static_cast<std::size_t>(k);
    if (index >= inputs.size() || inputs[index] == kNoValue)
      fail(ErrorCode::bad_file, fmt::format("grad{}: the program does not read input {}", k, k));
    wrt.push_back(inputs[index]);
  }
  const std::vector<ValueId> gradients = differentiate(b, seeds, wrt);
  std::size_t i = 0;
  for (const auto& [k, golden] : call.gradients) {
    const ValueId v = gradients[i] == kNoValue ? zeros_like(b, wrt[i]) : gradients[i];
    FunctionOutput output;
    output.value = v;
    output.name = fmt::format("grad{}", k);
    b.function().outputs.push_back(std::move(output));
    ++i;
  }
  b.function().out_tree.clear();  // out_tree describes PyTorch's outputs
}

}  // namespace tern
