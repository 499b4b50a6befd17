#include "exporter/llm/slots/together.h"

#include <algorithm>
#include <string>
#include <utility>

#include "exporter/add_body.h"

namespace tern {
namespace {

/// Operand reduced by a body of one reduction; none for other bodies.
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
  const auto position = [&](ValueId v) {
    return static_cast<std::size_t>(std::ranges::find(operands, v) - operands.begin());
  };
  const std::size_t test = position(choice.inputs[0]);
  const std::uint32_t then_function = choice.functions[0];
  const std::optional<std::size_t> operand = reduced_operand(b.program().functions[then_function]);
  if (!operand || test >= mapped) return std::nullopt;
  const std::size_t reduced = position(choice.inputs[*operand + 1]);
  if (reduced >= mapped) return std::nullopt;
  Node together;
  together.op = Op::cond;
  together.inputs = {b.reduce(loop.inputs[test], "all", {0}, false, DType::boolean)};
  together.inputs.insert(together.inputs.end(), loop.inputs.begin(), loop.inputs.end());
  const std::string name = b.program().functions[loop.functions[0]].name;
  together.functions.push_back(
      add_body(b, name + ".all", loop.inputs, [&](Builder& inner, std::span<const ValueId> values) {
        Node n = b.program().functions[then_function].nodes[0];
        Dims axes = n.dims(AttrKey::axes);
        for (Dim& axis : axes) axis = axis.value() < 0 ? axis : Dim(axis.value() + 1);
        n.set(AttrKey::axes, std::move(axes));
        n.inputs = {values[reduced]};
        n.outputs.clear();
        return inner.add(std::move(n));
      }));
  together.functions.push_back(
      add_body(b, name + ".each", loop.inputs, [&](Builder& inner, std::span<const ValueId> values) {
        Node n = loop;
        n.inputs.assign(values.begin(), values.end());
        return inner.add(std::move(n));
      }));
  return together;
}

}  // namespace tern
