#include "exporter/llm/slots/loop_body.h"

#include <fmt/format.h>

#include <unordered_map>

#include "exporter/llm/specialise.h"
#include "exporter/rewrite.h"
#include "schema/infer/control_types.h"

namespace tern {
namespace {

std::uint32_t new_body(Program& program, const std::string& name) {
  program.functions.emplace_back();
  program.functions.back().name = name;
  return static_cast<std::uint32_t>(program.functions.size() - 1);
}

ValueId add_input(Builder& b, TensorType type) {
  const std::string name = fmt::format("in{}", b.function().inputs.size());
  const ValueId v = b.add_value(std::move(type), name);
  b.function().inputs.push_back({FunctionInput::Kind::user, v, 0, name, {}});
  return v;
}

void add_output(Builder& b, ValueId v) {
  b.function().outputs.push_back({FunctionOutput::Kind::tensor, v, fmt::format("out{}", b.function().outputs.size())});
}

const TensorType& type_of(const TextNodes& t, ValueId v) {
  return t.source->values[static_cast<std::size_t>(v)].type;
}

using BodyValues = std::unordered_map<ValueId, ValueId>;  ///< values of the source, inside

void add_nodes(Program& program, Builder& b, const TextNodes& t, BodyValues& values) {
  for (const auto& [v, state] : t.states) values[v] = value_of_state(program, b.function(), state);
  for (const std::size_t i : t.nodes) {
    Node n = t.source->nodes[i];
    const std::vector<ValueId> outputs = std::exchange(n.outputs, {});
    for (ValueId& v : n.inputs) v = v == kNoValue ? v : values.at(v);
    b.set_origin(n.origin, n.annotations);
    const std::vector<ValueId> result = b.add(std::move(n));
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      if (outputs[k] == kNoValue) continue;
      values[outputs[k]] = result[k];
      // Export may know a size as a constant; the op's rule may give it as an expression of the text.
      b.function().values[static_cast<std::size_t>(result[k])].type = type_of(t, outputs[k]);
    }
  }
  b.set_origin(-1);
  for (const ValueId v : t.results) add_output(b, values.at(v));
}

/// Replaces the body's symbols: other loops may bind the same ones, and a symbol is bound by one node only.
void rename_symbols(Program& program, std::uint32_t body) {
  for (const std::int64_t symbol : bound_symbols(program, body)) {
    const Symbol s = program.pool.symbols()[static_cast<std::size_t>(symbol)];
    replace_symbol(program, body, static_cast<int>(symbol), program.pool.new_symbol(s.name, s.min, s.max));
  }
}

/// Body over the run's row of the slot's text.
std::uint32_t row_body(Program& program, const std::string& name, const TextNodes& t, const std::vector<bool>& in_rows,
                       Dim texts) {
  const std::uint32_t number = new_body(program, name);
  Builder b(program, number);
  const ValueId row = b.reshape(add_input(b, {DType::i64, {}}), {1});
  BodyValues values;
  for (std::size_t i = 0; i < t.operands.size(); ++i) {
    TensorType type = type_of(t, t.operands[i]);
    const Dims row_sizes = type.shape;
    if (in_rows[i]) type.shape.insert(type.shape.begin(), texts);
    const ValueId v = add_input(b, type);
    values[t.operands[i]] = in_rows[i] ? b.reshape(b.index_select(v, row, 0), row_sizes) : v;
  }
  add_nodes(program, b, t, values);
  rename_symbols(program, number);
  return number;
}

std::uint32_t idle_body(Program& program, const std::string& name, const TextNodes& t,
                        std::uint32_t reference_function) {
  const std::uint32_t number = new_body(program, name);
  Builder b(program, number);
  for (const FunctionInput& input : std::vector<FunctionInput>(program.functions[reference_function].inputs)) {
    if (input.kind == FunctionInput::Kind::user)
      add_input(b, program.functions[reference_function].values[static_cast<std::size_t>(input.value)].type);
  }
  for (const ValueId v : t.results) add_output(b, b.full(type_of(t, v).shape, 0, type_of(t, v).dtype));
  return number;
}

}  // namespace

std::uint32_t text_body(Program& program, const std::string& name, const TextNodes& t) {
  const std::uint32_t number = new_body(program, name);
  Builder b(program, number);
  BodyValues values;
  for (const ValueId v : t.operands) values[v] = add_input(b, type_of(t, v));
  add_nodes(program, b, t, values);
  rename_symbols(program, number);
  return number;
}

std::uint32_t slot_body(Program& program, const std::string& name, const TextNodes& t, const std::vector<bool>& in_rows,
                        Dim texts) {
  const std::uint32_t number = new_body(program, name);
  Builder b(program, number);
  const ValueId row = add_input(b, {DType::i64, {}});
  std::vector<ValueId> operands = {row};
  for (std::size_t i = 0; i < t.operands.size(); ++i) {
    TensorType type = type_of(t, t.operands[i]);
    if (in_rows[i]) type.shape.insert(type.shape.begin(), texts);
    operands.push_back(add_input(b, std::move(type)));
  }
  Node n;
  n.op = Op::cond;
  n.inputs = {b.expr("r >= 0", {{"r", row}}, DType::i64, DType::boolean)};
  n.inputs.insert(n.inputs.end(), operands.begin(), operands.end());
  n.functions.push_back(row_body(program, name + ".text", t, in_rows, texts));
  n.functions.push_back(idle_body(program, name + ".idle", t, n.functions[0]));
  for (const ValueId v : b.add(std::move(n))) add_output(b, v);
  return number;
}

}  // namespace tern
