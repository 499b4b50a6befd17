// Traced vmap: between _vmap_increment_nesting and _vmap_decrement_nesting the program computes on single examples.
// _add_batch_dim hides a tensor's batch axis, _remove_batch_dim restores it: a map over the batch.
#include "exporter/import/vmaps.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <set>

#include "exporter/import/unused.h"
#include "exporter/import/walker.h"

namespace tern::importing {
namespace {

using ArgumentKind = pt2::Argument::Kind;
constexpr std::string_view kPrefix = "torch._functorch.predispatch.";

bool calls_functorch(const pt2::Node& node, std::string_view function) {
  return node.target.starts_with(kPrefix) && std::string_view(node.target).substr(kPrefix.size()) == function;
}

std::int64_t integer(const pt2::Node& node, std::size_t input) {
  if (input < node.inputs.size() && node.inputs[input].arg.kind == ArgumentKind::integer)
    return node.inputs[input].arg.integer;
  fail(ErrorCode::unsupported, fmt::format("operand {} of {} is not a constant", input, node.target));
}

}  // namespace

std::size_t Vmaps::import_region(const pt2::Graph& graph, std::span<const pt2::Node> nodes, std::size_t begin) {
  constexpr int kMaxNesting = 16;
  if (scope_.vmaps >= kMaxNesting) fail(ErrorCode::unsupported, fmt::format("more than {} nested vmaps", kMaxNesting));
  std::size_t end = begin;
  for (int depth = 0; end < nodes.size(); ++end) {
    if (calls_functorch(nodes[end], "_vmap_increment_nesting")) ++depth;
    if (calls_functorch(nodes[end], "_vmap_decrement_nesting") && --depth == 0) break;
  }
  if (end == nodes.size()) fail(ErrorCode::bad_file, "the vmap does not end");

  std::vector<const pt2::Node*> batched, unbatched;
  std::vector<pt2::Node> inside;
  std::set<std::string> read_names, defined;
  int depth = 0;
  for (std::size_t i = begin + 1; i < end; ++i) {
    const pt2::Node& n = nodes[i];
    if (calls_functorch(n, "_vmap_increment_nesting")) ++depth;
    if (calls_functorch(n, "_vmap_decrement_nesting")) --depth;
    if (depth == 0 && calls_functorch(n, "_add_batch_dim")) {
      batched.push_back(&n);
      defined.insert(n.outputs.at(0).name);
    } else if (depth == 0 && calls_functorch(n, "_remove_batch_dim")) {
      unbatched.push_back(&n);
      add_read_names(n.inputs.at(0).arg, &read_names);
    } else {
      for (const pt2::NamedArgument& argument : n.inputs) add_read_names(argument.arg, &read_names);
      for (const pt2::Argument& output : n.outputs) {
        for (const std::string& name : output_names_of(output)) defined.insert(name);
      }
      inside.push_back(n);
    }
  }
  if (batched.empty() || unbatched.empty()) return end + 1;

  Program& program = shared_.program;
  const auto function = static_cast<std::uint32_t>(program.functions.size());
  program.functions.emplace_back();
  program.functions.back().name = builder_.function().name + ".vmap";
  Walker walker(shared_, function);
  Scope& inner = walker.scope();
  inner.enter(graph);
  inner.vmaps = scope_.vmaps + 1;
  Node loop;
  loop.op = Op::map_loop;
  const auto add_input = [&](const std::string& name, TensorType type) {
    const ValueId v = inner.builder().add_value(std::move(type), name);
    inner.builder().function().inputs.push_back({FunctionInput::Kind::user, v, 0, name, {}});
    return v;
  };
  for (const pt2::Node* n : batched) {
    const ValueId x = builder_.move_axis(scope_.tensor_of(n->inputs.at(0).arg), integer(*n, 1), 0);
    TensorType type = builder_.type(x);
    if (type.shape.empty()) fail(ErrorCode::bad_file, "vmap maps a tensor without dimensions");
    type.shape.erase(type.shape.begin());
    const std::string& name = n->outputs[0].name;
    inner.bind(name, Binding::tensor(inner.aliases().add_base(add_input(name, std::move(type)))));
    loop.inputs.push_back(x);
  }
  loop.set(AttrKey::mapped, Dims{static_cast<std::int64_t>(batched.size())});
  std::vector<RefId> captured;
  for (const std::string& name : read_names) {
    const Binding* outer = defined.contains(name) ? nullptr : scope_.find(name);
    if (outer == nullptr) continue;
    Binding b = *outer;
    if (b.kind == Binding::Kind::tensor || (b.kind == Binding::Kind::real && b.value != kNoValue)) {
      const ValueId v = scope_.value_of(b);
      loop.inputs.push_back(v);
      const ValueId body_input = add_input(name, builder_.type(v));
      b = b.kind == Binding::Kind::real ? Binding::real_value(body_input)
                                        : Binding::tensor(inner.aliases().add_base(body_input));
      if (b.kind == Binding::Kind::tensor) captured.push_back(b.ref);
    }
    inner.bind(name, std::move(b));
  }
  walker.run(graph, inside);
  for (RefId r : captured) {
    if (inner.aliases().is_written(r))
      fail(ErrorCode::unsupported, "a function under vmap writes a captured tensor in place");
  }
  for (const pt2::Node* n : unbatched) {
    inner.enter(graph);
    const ValueId v = inner.tensor_of(n->inputs[0].arg);
    inner.builder().function().outputs.push_back({FunctionOutput::Kind::tensor, v, n->outputs.at(0).name});
  }
  loop.functions = {function};
  const std::vector<ValueId> results = builder_.add(std::move(loop));
  for (std::size_t k = 0; k < unbatched.size(); ++k) {
    const ValueId v = builder_.move_axis(results[k], 0, integer(*unbatched[k], 3));
    results_.check(*unbatched[k], unbatched[k]->outputs[0].name, v);
    scope_.bind(unbatched[k]->outputs[0].name, Binding::tensor(aliases_.add_base(v)));
  }
  for (const auto& [name, b] : inner.names()) {  // outer code may use sizes computed inside
    if (b.is_dim() && scope_.find(name) == nullptr) scope_.bind(name, b);
  }
  return end + 1;
}

}  // namespace tern::importing
