// Control flow: subgraphs become functions, calls become nodes.
#include "exporter/import/control.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <set>

#include "exporter/gradients/detach.h"
#include "exporter/import/names.h"
#include "exporter/import/refused.h"
#include "exporter/import/views.h"
#include "exporter/import/walker.h"
#include "schema/infer/control_types.h"

namespace tern::importing {

using ArgumentKind = pt2::Argument::Kind;

namespace {

/// Collects the symbols u0, u1 ... of data-dependent sizes in a tensor's record.
void unbacked_symbols(const pt2::Graph& graph, const std::string& name, std::set<std::string>* symbols) {
  const pt2::TensorMeta* meta = graph.tensor_values.find(name);
  if (meta == nullptr) return;
  constexpr std::string_view begin = "Symbol('u";
  for (const pt2::SymInt& size : meta->sizes) {
    for (std::size_t index = size.expr.find(begin); index != std::string::npos;
         index = size.expr.find(begin, index + 1)) {
      const std::size_t name_at = index + begin.size() - 1;
      symbols->insert(size.expr.substr(name_at, size.expr.find('\'', name_at) - name_at));
    }
  }
}

/// True if a result has a size determined inside the subgraph.
bool gives_new_sizes(const pt2::Graph& graph) {
  std::set<std::string> bound_names, operand_names;
  for (const pt2::Argument& graph_input : graph.inputs) unbacked_symbols(graph, graph_input.name, &bound_names);
  for (const pt2::Argument& graph_output : graph.outputs) {
    for (const std::string& name : output_names_of(graph_output)) unbacked_symbols(graph, name, &operand_names);
  }
  return !std::includes(bound_names.begin(), bound_names.end(), operand_names.begin(), operand_names.end());
}

}  // namespace

const pt2::Graph& ControlFlow::graph_of(const pt2::Node& node, std::size_t input) const {
  if (input < node.inputs.size() && node.inputs[input].arg.kind == ArgumentKind::graph &&
      node.inputs[input].arg.graph != nullptr) {
    return *node.inputs[input].arg.graph;
  }
  fail(ErrorCode::bad_file, fmt::format("operand {} must be a subgraph", input));
}

std::vector<ValueId> ControlFlow::operand_values(const std::vector<Binding>& operands) {
  std::vector<ValueId> values;
  for (const Binding& b : operands) {
    if (b.kind == BindingKind::tensor || (b.kind == BindingKind::real && b.value != kNoValue))
      values.push_back(scope_.value_of(b));
  }
  return values;
}

void ControlFlow::bind_control(const pt2::Node& node, std::span<const ValueId> results) {
  std::size_t i = 0;
  for (const pt2::Argument& output : node.outputs) {
    for (const std::string& name : output_names_of(output)) {
      const std::size_t index = i++;
      if (name.empty()) continue;
      if (index >= results.size()) fail(ErrorCode::bad_file, fmt::format("the subgraph has no output for '{}'", name));
      if (output.kind == ArgumentKind::sym_int || output.kind == ArgumentKind::sym_bool ||
          output.kind == ArgumentKind::sym_float) {
        pt2::Node element_node;
        element_node.outputs = {output};
        scope_.bind(name, scalars_.from_tensor(element_node, results[index]));
      } else {
        results_.check(node, name, results[index]);
        scope_.bind(name, Binding::tensor(aliases_.add_base(results[index])));
      }
    }
  }
}

void ControlFlow::write_back(const std::vector<std::size_t>& written, const std::vector<Binding>& operands,
                             std::span<const ValueId> results) {
  for (std::size_t k = 0; k < written.size(); ++k)
    scope_.write(operands[written[k]], results[results.size() - written.size() + k]);
}

void ControlFlow::cond(const pt2::Node& node) {
  const pt2::Graph &on_true = graph_of(node, 1), &on_false = graph_of(node, 2);
  ValueId predicate = scope_.tensor_of(node.inputs[0].arg);
  if (builder_.rank(predicate) != 0) predicate = builder_.reshape(predicate, {});
  if (builder_.dtype(predicate) != DType::boolean) {
    predicate = builder_.expr("x != 0", {{"x", predicate}}, builder_.dtype(predicate), DType::boolean);
  }
  const std::vector<Binding> operands = scope_.flattened(std::span(node.inputs).subspan(3));
  Body t = bodies_.create("true", on_true, operands), f = bodies_.create("false", on_false, operands);
  const std::vector<std::size_t> written = add_written_results({&t, &f});
  Node n;
  n.op = Op::cond;
  n.inputs = {predicate};
  const std::vector<ValueId> values = operand_values(operands);
  n.inputs.insert(n.inputs.end(), values.begin(), values.end());
  n.functions = {t.function, f.function};
  Dims symbols;
  for (const auto& [a, b] : differing_sizes(shared_.program, pool(), t.function, f.function)) {
    const Interval x = pool().bounds(a), y = pool().bounds(b);
    symbols.push_back(
        pool().new_symbol("branch", std::max<std::int64_t>(std::min(x.min, y.min), 0), std::max(x.max, y.max)));
  }
  if (!symbols.empty()) n.set(AttrKey::symbols, symbols);
  const std::vector<ValueId> results = builder_.add(std::move(n));
  bind_control(node, std::span(results).first(results.size() - written.size()));
  write_back(written, operands, results);
}

void ControlFlow::invoke_subgraph(const pt2::Node& node) {
  const pt2::Graph& graph = graph_of(node, 0);
  // A call cannot return a size to its caller; inlined nodes can.
  if (gives_new_sizes(graph)) return inline_graph(node, 0, 2);
  const std::vector<Binding> operands =
      scope_.flattened(std::span(node.inputs).subspan(std::min<std::size_t>(2, node.inputs.size())));
  // The file repeats the subgraph at each call. Equal calls share a function: same identifier, same types and sizes of
  // operands.
  std::string key = node.inputs.size() > 1 ? node.inputs[1].arg.text : std::string{};
  for (const Binding& b : operands) {
    key += b.kind == BindingKind::tensor ? "|" + text_of(builder_.type(scope_.value_of(b)), pool())
           : b.is_dim()                  ? "|" + pool().text(b.dim)
                                         : fmt::format("|{}", b.number);
  }
  const std::string name =
      node.inputs.size() > 1 && !node.inputs[1].arg.text.empty() ? node.inputs[1].arg.text : "subgraph";
  auto found = shared_.subgraphs.find(key);
  if (found == shared_.subgraphs.end()) {
    Body body = bodies_.create(name, graph, operands);
    const std::vector<std::size_t> written = add_written_results({&body});
    found = shared_.subgraphs.emplace(key, Shared::Subgraph{body.function, written}).first;
  }
  Node n;
  n.op = Op::call;
  n.inputs = operand_values(operands);
  n.functions = {found->second.function};
  const std::vector<std::size_t> written = found->second.written;
  const std::vector<ValueId> results = builder_.add(std::move(n));
  bind_control(node, std::span(results).first(results.size() - written.size()));
  write_back(written, operands, results);
}

/// Inlines a body run once: its nodes become nodes of this function.
void ControlFlow::inline_graph(const pt2::Node& node, std::size_t graph_position, std::size_t operands_position) {
  const pt2::Graph& graph = graph_of(node, graph_position);
  const std::vector<Binding> operands =
      scope_.flattened(std::span(node.inputs).subspan(std::min(operands_position, node.inputs.size())));
  if (graph.inputs.size() != operands.size())
    fail(ErrorCode::bad_file, "the subgraph's inputs do not match the call's operands");
  Bindings outer;
  outer.swap(scope_.names());
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (!graph.inputs[i].name.empty()) scope_.bind(graph.inputs[i].name, operands[i]);
  }
  walker_.run(graph);
  const std::vector<Binding> results = scope_.outputs_of(graph);
  outer.swap(scope_.names());
  std::size_t i = 0;
  for (const pt2::Argument& output : node.outputs) {
    for (const std::string& name : output_names_of(output)) {
      if (i >= results.size()) fail(ErrorCode::bad_file, "the subgraph has fewer outputs than the call");
      if (!name.empty()) scope_.bind(name, results[i]);
      ++i;
    }
  }
}

/// Inlines a region under no_grad: its results are detached, except for outer tensors written by the region.
void ControlFlow::inline_no_grad(const pt2::Node& node) {
  const std::size_t outside = aliases_.count();
  inline_graph(node, 1, 2);
  for (const pt2::Argument& output : node.outputs) {
    for (const std::string& name : output_names_of(output)) {
      const Binding* bound = name.empty() ? nullptr : scope_.find(name);
      if (bound == nullptr || bound->kind != BindingKind::tensor) continue;
      const RefId ref = bound->ref;
      if (static_cast<std::size_t>(ref) < outside) continue;
      scope_.bind(name, Binding::tensor(aliases_.add_view(ref, detached(builder_, aliases_.current_value(ref)),
                                                          detached_view_step(builder_))));
    }
  }
}

void ControlFlow::call(const pt2::Node& node, std::string_view name) {
  if (!contains(control_names(), name)) {
    shared_.missing.add(node, std::string(reason_against(fmt::format("higher_order.{}", name))));
    scope_.substitute(node);
    return;
  }
  if (name == "cond") return cond(node);
  if (name == "while_loop") return while_loop(node);
  if (name == "scan") return scan(node);
  if (name == "map_impl" || name == "map") return map(node);
  if (name == "invoke_subgraph") return invoke_subgraph(node);
  if (name == "wrap" || name == "strict_mode" || name == "tag_activation_checkpoint") return inline_graph(node, 0, 1);
  if (name == "wrap_with_set_grad_enabled") {
    const Binding enabled = scope_.binding_of(node.inputs.at(0).arg);
    const bool outer = scope_.no_grad;
    scope_.no_grad = shared_.options.transform && enabled.is_dim() && enabled.dim.is(0);
    if (scope_.no_grad) {
      inline_no_grad(node);
    } else {
      inline_graph(node, 1, 2);
    }
    scope_.no_grad = outer;
    return;
  }
  if (name == "wrap_with_autocast") {
    const DType outer = scope_.autocast;
    const bool enabled = node.inputs.size() > 4 && scope_.binding_of(node.inputs[2].arg).dim.is(1);
    scope_.autocast = !enabled                                               ? DType::invalid
                      : node.inputs[1].arg.kind == ArgumentKind::scalar_type ? node.inputs[1].arg.dtype()
                                                                             : DType::bf16;
    inline_graph(node, 4, 5);
    scope_.autocast = outer;
    return;
  }
  fail(ErrorCode::internal, fmt::format("{} is in the table of control flow only", name));
}

}  // namespace tern::importing
