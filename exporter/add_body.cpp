#include "exporter/add_body.h"

#include <fmt/format.h>

namespace tern {

std::uint32_t add_body(Builder& b, const std::string& name, std::span<const TensorType> types, const FillBody& fill) {
  Program& program = b.program();
  const auto number = static_cast<std::uint32_t>(program.functions.size());
  program.functions.emplace_back();
  program.functions.back().name = name;
  Builder inner(program, number);
  std::vector<ValueId> values;
  for (std::size_t i = 0; i < types.size(); ++i) {
    const std::string input = fmt::format("in{}", i);
    values.push_back(inner.add_value(types[i], input));
    inner.function().inputs.push_back({FunctionInput::Kind::user, values.back(), 0, input, {}});
  }
  for (const ValueId v : fill(inner, values)) {
    const std::string output = fmt::format("out{}", inner.function().outputs.size());
    inner.function().outputs.push_back({FunctionOutput::Kind::tensor, v, output});
  }
  return number;
}

std::uint32_t add_body(Builder& b, const std::string& name, std::span<const ValueId> operands, const FillBody& fill) {
  std::vector<TensorType> types;
  for (const ValueId v : operands) types.push_back(b.type(v));
  return add_body(b, name, types, fill);
}

}  // namespace tern
