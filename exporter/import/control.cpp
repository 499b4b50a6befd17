// Control flow: subgraphs become functions, and calls of them nodes.
#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <set>

#include "exporter/import/names.h"
#include "exporter/import/walker.h"
#include "schema/infer/control_types.h"

namespace tern::importing {

using Kind = pt2::Argument::Kind;

namespace {

/// The symbols u0, u1 ... of data-dependent sizes in what was recorded of a tensor.
void unbacked_symbols(const pt2::Graph& graph, const std::string& name, std::set<std::string>* symbols) {
  const pt2::TensorMeta* meta = graph.tensor_values.find(name);
  if (meta == nullptr) return;
  constexpr std::string_view begin = "Symbol('u";
  for (const pt2::SymInt& size : meta->sizes) {
    for (std::size_t at = size.expr.find(begin); at != std::string::npos; at = size.expr.find(begin, at + 1)) {
      const std::size_t name_at = at + begin.size() - 1;
      symbols->insert(size.expr.substr(name_at, size.expr.find('\'', name_at) - name_at));
    }
  }
}

/// A result has a size that the subgraph itself finds out.
bool gives_new_sizes(const pt2::Graph& graph) {
  std::set<std::string> known, given;
  for (const pt2::Argument& in : graph.inputs) unbacked_symbols(graph, in.name, &known);
  for (const pt2::Argument& out : graph.outputs) {
    for (const std::string& name : output_names_of(out)) unbacked_symbols(graph, name, &given);
  }
  return !std::includes(known.begin(), known.end(), given.begin(), given.end());
}

}  // namespace

std::vector<Binding> Walker::flattened(std::span<const pt2::NamedArgument> arguments) {
  std::vector<Binding> result;
  for (const pt2::NamedArgument& in : arguments) {
    const pt2::Argument& a = in.arg;
    pt2::Argument one;
    switch (a.kind) {
      case Kind::tensors:
      case Kind::optional_tensors:
        for (const std::string& name : a.names) {
          one.kind = name.empty() ? Kind::none : Kind::tensor;
          one.name = name;
          result.push_back(binding_of(one));
        }
        break;
      case Kind::ints:
        for (std::int64_t v : a.ints) result.push_back(Binding::integer(v));
        break;
      case Kind::sym_ints:
        for (const auto& s : a.sym_ints) {
          one.kind = Kind::sym_int;
          one.name = s.name;
          one.integer = s.value;
          result.push_back(binding_of(one));
        }
        break;
      default: result.push_back(binding_of(a));
    }
  }
  return result;
}

const pt2::Graph& Walker::graph_of(const pt2::Node& node, std::size_t input) const {
  if (input < node.inputs.size() && node.inputs[input].arg.kind == Kind::graph &&
      node.inputs[input].arg.graph != nullptr) {
    return *node.inputs[input].arg.graph;
  }
  fail(ErrorCode::bad_file, fmt::format("operand {} must be a subgraph", input));
}

std::vector<Binding> Walker::outputs_of(const pt2::Graph& graph) {
  std::vector<pt2::NamedArgument> named;
  for (const pt2::Argument& a : graph.outputs) named.push_back({{}, a});
  return flattened(named);
}

Body Walker::body(const std::string& name, const pt2::Graph& graph, const std::vector<Binding>& operands,
                  std::size_t mapped_begin, std::size_t mapped_count) {
  if (graph.inputs.size() != operands.size()) {
    fail(ErrorCode::bad_file, fmt::format("the subgraph '{}' has {} inputs, and {} operands are given", name,
                                          graph.inputs.size(), operands.size()));
  }
  Body body;
  Program& program = shared_.program;
  body.function = static_cast<std::uint32_t>(program.functions.size());
  program.functions.emplace_back();
  program.functions.back().name = fmt::format("{}.{}", builder_.function().name, name);
  body.walker = std::make_shared<Walker>(shared_, body.function);
  Walker& inner = *body.walker;
  inner.autocast_ = autocast_;
  inner.vmaps_ = vmaps_;
  inner.graph_ = &graph;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const pt2::Argument& in = graph.inputs[i];
    Binding b = operands[i];
    if (b.kind == BindingKind::tensor || (b.kind == BindingKind::real && b.value != kNoValue)) {
      TensorType type = builder_.type(value_of(b));
      if (i >= mapped_begin && i < mapped_begin + mapped_count) {
        if (type.shape.empty()) fail(ErrorCode::bad_file, "a loop over a tensor of no dimensions");
        type.shape.erase(type.shape.begin());
      }
      const ValueId v = inner.builder_.add_value(std::move(type), in.name);
      inner.builder_.function().inputs.push_back({FunctionInput::Kind::user, v, 0, in.name, {}});
      if (b.kind == BindingKind::real) {
        b = Binding::real_value(v);
      } else if (in.kind == Kind::sym_int || in.kind == Kind::sym_bool || in.kind == Kind::sym_float) {
        pt2::Node read;
        read.outputs = {in};
        b = inner.from_tensor(read, v);
      } else {
        b = Binding::tensor(inner.aliases_.own(v));
      }
    }
    if (!in.name.empty()) inner.bind(in.name, b);
    body.inputs.push_back(std::move(b));
  }
  inner.run(graph);
  inner.graph_ = &graph;
  for (const Binding& b : inner.outputs_of(graph)) {
    ValueId v = inner.value_of(b);
    if (v == kNoValue) v = inner.builder_.full({}, 0, DType::boolean);  // None: never read
    inner.builder_.function().outputs.push_back(
        {FunctionOutput::Kind::tensor, v, fmt::format("out{}", body.outputs++)});
  }
  for (std::size_t i = 0; i < body.inputs.size(); ++i) {
    if (body.inputs[i].kind == BindingKind::tensor && inner.aliases_.changed(body.inputs[i].ref))
      body.written.push_back(i);
  }
  return body;
}

std::vector<std::size_t> Walker::add_written(const std::vector<Body*>& bodies) {
  std::set<std::size_t> all;
  for (const Body* b : bodies) all.insert(b->written.begin(), b->written.end());
  for (Body* b : bodies) {
    for (std::size_t i : all) {
      const ValueId v = b->walker->value_of(b->inputs[i]);
      b->walker->builder_.function().outputs.push_back({FunctionOutput::Kind::tensor, v, fmt::format("new{}", i)});
    }
  }
  return {all.begin(), all.end()};
}

std::vector<ValueId> Walker::operand_values(const std::vector<Binding>& operands) {
  std::vector<ValueId> values;
  for (const Binding& b : operands) {
    if (b.kind == BindingKind::tensor || (b.kind == BindingKind::real && b.value != kNoValue))
      values.push_back(value_of(b));
  }
  return values;
}

void Walker::bind_control(const pt2::Node& node, std::span<const ValueId> results) {
  std::size_t i = 0;
  for (const pt2::Argument& output : node.outputs) {
    for (const std::string& name : output_names_of(output)) {
      const std::size_t at = i++;
      if (name.empty()) continue;
      if (at >= results.size()) fail(ErrorCode::bad_file, fmt::format("the subgraph gives no output for '{}'", name));
      if (output.kind == Kind::sym_int || output.kind == Kind::sym_bool || output.kind == Kind::sym_float) {
        pt2::Node one;
        one.outputs = {output};
        bind(name, from_tensor(one, results[at]));
      } else {
        check_result(node, name, results[at]);
        bind(name, Binding::tensor(aliases_.own(results[at])));
      }
    }
  }
}

void Walker::write_back(const std::vector<std::size_t>& written, const std::vector<Binding>& operands,
                        std::span<const ValueId> results) {
  for (std::size_t k = 0; k < written.size(); ++k)
    write(operands[written[k]], results[results.size() - written.size() + k]);
}

void Walker::cond(const pt2::Node& node) {
  const pt2::Graph &on_true = graph_of(node, 1), &on_false = graph_of(node, 2);
  ValueId predicate = tensor_of(node.inputs[0].arg);
  if (builder_.rank(predicate) != 0) predicate = builder_.reshape(predicate, {});
  if (builder_.dtype(predicate) != DType::boolean) {
    predicate = builder_.expr("x != 0", {{"x", predicate}}, builder_.dtype(predicate), DType::boolean);
  }
  const std::vector<Binding> operands = flattened(std::span(node.inputs).subspan(3));
  Body t = body("true", on_true, operands), f = body("false", on_false, operands);
  const std::vector<std::size_t> written = add_written({&t, &f});
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

void Walker::invoke_subgraph(const pt2::Node& node) {
  const pt2::Graph& graph = graph_of(node, 0);
  // A call cannot tell its caller a size; the caller's own nodes can.
  if (gives_new_sizes(graph)) return inlined(node, 0, 2);
  const std::vector<Binding> operands =
      flattened(std::span(node.inputs).subspan(std::min<std::size_t>(2, node.inputs.size())));
  // The file repeats the subgraph at each call. Equal calls share a function: same identifier, same types and sizes of
  // operands.
  std::string key = node.inputs.size() > 1 ? node.inputs[1].arg.text : std::string{};
  for (const Binding& b : operands) {
    key += b.kind == BindingKind::tensor ? "|" + text_of(builder_.type(value_of(b)), pool())
           : b.is_dim()                  ? "|" + pool().text(b.dim)
                                         : fmt::format("|{}", b.number);
  }
  const std::string name =
      node.inputs.size() > 1 && !node.inputs[1].arg.text.empty() ? node.inputs[1].arg.text : "subgraph";
  auto found = shared_.subgraphs.find(key);
  if (found == shared_.subgraphs.end()) {
    Body made = body(name, graph, operands);
    made.written = add_written({&made});
    made.walker.reset();
    found = shared_.subgraphs.emplace(key, std::move(made)).first;
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

/// A body that runs once and in place: its nodes become nodes of this function.
void Walker::inlined(const pt2::Node& node, std::size_t graph_at, std::size_t operands_at) {
  const pt2::Graph& graph = graph_of(node, graph_at);
  const std::vector<Binding> operands =
      flattened(std::span(node.inputs).subspan(std::min(operands_at, node.inputs.size())));
  if (graph.inputs.size() != operands.size())
    fail(ErrorCode::bad_file, "the subgraph has other inputs than operands are given");
  Names outer;
  outer.swap(names_);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (!graph.inputs[i].name.empty()) bind(graph.inputs[i].name, operands[i]);
  }
  run(graph);
  const std::vector<Binding> results = outputs_of(graph);
  outer.swap(names_);
  std::size_t i = 0;
  for (const pt2::Argument& output : node.outputs) {
    for (const std::string& name : output_names_of(output)) {
      if (i >= results.size()) fail(ErrorCode::bad_file, "the subgraph has fewer outputs than the call");
      if (!name.empty()) bind(name, results[i]);
      ++i;
    }
  }
}

void Walker::control_call(const pt2::Node& node, std::string_view name) {
  if (!contains(control_names(), name)) {
    shared_.missing.add(node, std::string(reason_against(name)));
    substitute(node);
    return;
  }
  if (name == "cond") return cond(node);
  if (name == "while_loop") return while_loop(node);
  if (name == "scan") return scan(node);
  if (name == "map_impl" || name == "map") return map(node);
  if (name == "invoke_subgraph") return invoke_subgraph(node);
  if (name == "wrap" || name == "strict_mode" || name == "tag_activation_checkpoint") return inlined(node, 0, 1);
  if (name == "wrap_with_set_grad_enabled") return inlined(node, 1, 2);
  if (name == "wrap_with_autocast") {
    const DType outer = autocast_;
    const bool enabled = node.inputs.size() > 4 && binding_of(node.inputs[2].arg).dim.is(1);
    autocast_ = !enabled                                       ? DType::invalid
                : node.inputs[1].arg.kind == Kind::scalar_type ? node.inputs[1].arg.dtype()
                                                               : DType::bf16;
    inlined(node, 4, 5);
    autocast_ = outer;
    return;
  }
  fail(ErrorCode::internal, fmt::format("{} is in the table of control flow only", name));
}

}  // namespace tern::importing
