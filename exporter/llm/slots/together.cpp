#include "exporter/llm/slots/together.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>

#include "schema/kinds.h"

namespace tern {
namespace {

/// A body whose operands are those of `loop`.
std::uint32_t add_body(Builder& b, const std::string& name, const Node& loop,
                       const std::function<std::vector<ValueId>(Builder&, std::vector<ValueId>)>& fill) {
  Program& program = b.program();
  const auto number = static_cast<std::uint32_t>(program.functions.size());
  std::vector<TensorType> types;
  for (const ValueId v : loop.inputs) types.push_back(b.type(v));
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

/// The reduction that a body is, if it is one of its own operands: which one.
std::optional<std::size_t> reduced_operand(const Function& f) {
  if (f.nodes.size() != 1 || f.nodes[0].op != Op::reduce || f.outputs.size() != 1 ||
      f.outputs[0].value != f.nodes[0].outputs[0])
    return std::nullopt;
  const auto found = std::ranges::find(f.inputs, f.nodes[0].inputs[0], &FunctionInput::value);
  if (found == f.inputs.end() || found->kind != FunctionInput::Kind::user) return std::nullopt;
  return static_cast<std::size_t>(found - f.inputs.begin());
}

}  // namespace

std::optional<Node> choose_together(Builder& b, const Node& choice, const std::vector<ValueId>& operands,
                                    const Node& loop) {
  if (choice.op != Op::cond) return std::nullopt;
  const auto mapped = static_cast<std::size_t>(loop.integer(AttrKey::mapped));
  const auto place = [&](ValueId v) {
    return static_cast<std::size_t>(std::ranges::find(operands, v) - operands.begin());
  };
  const std::size_t test = place(choice.inputs[0]);
  const std::uint32_t yes = choice.functions[0];
  const std::optional<std::size_t> operand = reduced_operand(b.program().functions[yes]);
  if (!operand || test >= mapped) return std::nullopt;
  const std::size_t reduced = place(choice.inputs[*operand + 1]);
  if (reduced >= mapped) return std::nullopt;
  Node together;
  together.op = Op::cond;
  together.inputs = {b.reduce(loop.inputs[test], "all", {0}, false, DType::boolean)};
  together.inputs.insert(together.inputs.end(), loop.inputs.begin(), loop.inputs.end());
  const std::string name = b.program().functions[loop.functions[0]].name;
  together.functions.push_back(add_body(b, name + ".all", loop, [&](Builder& inner, std::vector<ValueId> values) {
    Node n = b.program().functions[yes].nodes[0];
    Dims axes = n.dims(AttrKey::axes);
    for (Dim& axis : axes) axis = axis.value() < 0 ? axis : Dim(axis.value() + 1);
    n.set(AttrKey::axes, std::move(axes));
    n.inputs = {values[reduced]};
    n.outputs.clear();
    return inner.add(std::move(n));
  }));
  together.functions.push_back(add_body(b, name + ".each", loop, [&](Builder& inner, std::vector<ValueId> values) {
    Node n = loop;
    n.inputs = std::move(values);
    return inner.add(std::move(n));
  }));
  return together;
}

}  // namespace tern
