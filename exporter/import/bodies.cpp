#include "exporter/import/bodies.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <set>

#include "exporter/import/walker.h"

namespace tern::importing {

using ArgumentKind = pt2::Argument::Kind;

Body Bodies::create(const std::string& name, const pt2::Graph& graph, const std::vector<Binding>& operands,
                    std::size_t mapped_begin, std::size_t mapped_count) {
  if (graph.inputs.size() != operands.size()) {
    fail(ErrorCode::bad_file, fmt::format("the subgraph '{}' has {} inputs, but the call has {} operands", name,
                                          graph.inputs.size(), operands.size()));
  }
  Body body;
  Program& program = shared_.program;
  body.function = static_cast<std::uint32_t>(program.functions.size());
  program.functions.emplace_back();
  program.functions.back().name = fmt::format("{}.{}", builder_.function().name, name);
  body.walker = std::make_shared<Walker>(shared_, body.function);
  Scope& inner = body.walker->scope();
  inner.autocast = scope_.autocast;
  inner.vmaps = scope_.vmaps;
  inner.enter(graph);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const pt2::Argument& graph_input = graph.inputs[i];
    Binding b = operands[i];
    if (b.kind == BindingKind::tensor || (b.kind == BindingKind::real && b.value != kNoValue)) {
      TensorType type = builder_.type(scope_.value_of(b));
      if (i >= mapped_begin && i < mapped_begin + mapped_count) {
        if (type.shape.empty()) fail(ErrorCode::bad_file, "a loop iterates over a tensor without dimensions");
        type.shape.erase(type.shape.begin());
      }
      const ValueId v = inner.builder().add_value(std::move(type), graph_input.name);
      inner.builder().function().inputs.push_back({FunctionInput::Kind::user, v, 0, graph_input.name, {}});
      if (b.kind == BindingKind::real) {
        b = Binding::real_value(v);
      } else if (graph_input.kind == ArgumentKind::sym_int || graph_input.kind == ArgumentKind::sym_bool ||
                 graph_input.kind == ArgumentKind::sym_float) {
        pt2::Node item_node;
        item_node.outputs = {graph_input};
        b = body.walker->scalars().from_tensor(item_node, v);
      } else {
        b = Binding::tensor(inner.aliases().add_base(v));
      }
    }
    if (!graph_input.name.empty()) inner.bind(graph_input.name, b);
    body.inputs.push_back(std::move(b));
  }
  body.walker->run(graph);
  inner.enter(graph);
  for (const Binding& b : inner.outputs_of(graph)) {
    ValueId v = inner.value_of(b);
    if (v == kNoValue) v = inner.builder().full({}, 0, DType::boolean);  // never read
    inner.builder().function().outputs.push_back(
        {FunctionOutput::Kind::tensor, v, fmt::format("out{}", body.outputs++)});
  }
  for (std::size_t i = 0; i < body.inputs.size(); ++i) {
    if (body.inputs[i].kind == BindingKind::tensor && inner.aliases().is_written(body.inputs[i].ref))
      body.written.push_back(i);
  }
  return body;
}

std::vector<std::size_t> add_written_results(const std::vector<Body*>& bodies) {
  std::set<std::size_t> written_operands;
  for (const Body* b : bodies) written_operands.insert(b->written.begin(), b->written.end());
  for (Body* b : bodies) {
    for (std::size_t i : written_operands) {
      Scope& inner = b->walker->scope();
      const ValueId v = inner.value_of(b->inputs[i]);
      inner.builder().function().outputs.push_back({FunctionOutput::Kind::tensor, v, fmt::format("new{}", i)});
    }
  }
  return {written_operands.begin(), written_operands.end()};
}

}  // namespace tern::importing
