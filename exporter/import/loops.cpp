// while_loop, scan and map.
#include <fmt/format.h>
#include <tern/error.h>

#include "exporter/import/control.h"

namespace tern::importing {
namespace {

/// PyTorch's export refuses such bodies too: writes in a round may or may not reach the next round or the caller.
void refuse_writes(const Body& body, const pt2::Graph& graph, const char* construct) {
  if (body.written.empty()) return;
  fail(ErrorCode::unsupported,
       fmt::format("the body of a {} writes its operand {} ('{}') in place, which PyTorch does not define; clone the "
                   "operand in the body before it is written, and return what must outlive the round",
                   construct, body.written[0], graph.inputs[body.written[0]].name));
}

void append(std::vector<Binding>& target, const std::vector<Binding>& source) {
  target.insert(target.end(), source.begin(), source.end());
}

}  // namespace

void ControlFlow::while_loop(const pt2::Node& node) {
  const pt2::Graph &condition = graph_of(node, 0), &loop = graph_of(node, 1);
  const std::span<const pt2::NamedArgument> inputs = node.inputs;
  std::vector<Binding> operands = scope_.flattened(inputs.subspan(2, std::min<std::size_t>(1, inputs.size() - 2)));
  for (Binding& b : operands) {  // carried values are tensors, integers included
    if (b.kind != BindingKind::tensor) b = Binding::tensor(aliases_.add_base(scope_.value_of(b)));
  }
  const std::size_t carried = operands.size();
  if (inputs.size() > 3) append(operands, scope_.flattened(inputs.subspan(3)));
  const Body c = bodies_.create("while", condition, operands), b = bodies_.create("do", loop, operands);
  refuse_writes(c, condition, "while_loop");
  refuse_writes(b, loop, "while_loop");
  Node n;
  n.op = Op::while_loop;
  n.inputs = operand_values(operands);
  n.functions = {c.function, b.function};
  n.set(AttrKey::carried, Dims{static_cast<std::int64_t>(carried)});
  bind_control(node, builder_.add(std::move(n)));
}

void ControlFlow::scan(const pt2::Node& node) {
  const pt2::Graph& combine = graph_of(node, 0);
  const std::span<const pt2::NamedArgument> inputs = node.inputs;
  if (inputs.size() < 3) fail(ErrorCode::bad_file, "scan needs initial values and tensors to iterate over");
  std::vector<Binding> operands = scope_.flattened(inputs.subspan(1, 1));
  for (Binding& b : operands) {
    if (b.kind != BindingKind::tensor) b = Binding::tensor(aliases_.add_base(scope_.value_of(b)));
  }
  const std::size_t carried = operands.size();
  append(operands, scope_.flattened(inputs.subspan(2, 1)));
  const std::size_t mapped = operands.size() - carried;
  append(operands, scope_.flattened(inputs.subspan(3)));
  const Body b = bodies_.create("scan", combine, operands, carried, mapped);
  refuse_writes(b, combine, "scan");
  Node n;
  n.op = Op::scan_loop;
  n.inputs = operand_values(operands);
  n.functions = {b.function};
  n.set(AttrKey::carried, Dims{static_cast<std::int64_t>(carried)});
  n.set(AttrKey::mapped, Dims{static_cast<std::int64_t>(mapped)});
  bind_control(node, builder_.add(std::move(n)));
}

void ControlFlow::map(const pt2::Node& node) {
  const pt2::Graph& graph = graph_of(node, 0);
  const std::span<const pt2::NamedArgument> inputs = node.inputs;
  if (inputs.size() < 2) fail(ErrorCode::bad_file, "map needs tensors to iterate over");
  std::vector<Binding> operands = scope_.flattened(inputs.subspan(1, 1));
  const std::size_t mapped = operands.size();
  append(operands, scope_.flattened(inputs.subspan(2)));
  const Body b = bodies_.create("map", graph, operands, 0, mapped);
  refuse_writes(b, graph, "map");
  Node n;
  n.op = Op::map_loop;
  n.inputs = operand_values(operands);
  n.functions = {b.function};
  n.set(AttrKey::mapped, Dims{static_cast<std::int64_t>(mapped)});
  bind_control(node, builder_.add(std::move(n)));
}

}  // namespace tern::importing
