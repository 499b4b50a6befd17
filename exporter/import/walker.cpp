#include "exporter/import/walker.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <stdexcept>

#include "dtypes/printable.h"
#include "exporter/import/node_error.h"
#include "schema/work.h"

namespace tern::importing {

using Kind = pt2::Argument::Kind;

std::vector<std::string> output_names_of(const pt2::Argument& output) {
  switch (output.kind) {
    case Kind::tensors:
    case Kind::optional_tensors: return output.names;
    case Kind::none: return {""};
    default: return {output.name};
  }
}

const Binding* Walker::find(std::string_view name) const {
  const auto it = names_.find(name);
  return it == names_.end() ? nullptr : &it->second;
}

void Walker::bind(const std::string& name, Binding b) {
  if (b.kind == BindingKind::tensor && !aliases_.is_view(b.ref) && graph_ != nullptr) {
    memory_.try_emplace(b.ref, meta_of(name));
  }
  names_.insert_or_assign(name, std::move(b));
}

Binding Walker::binding_of(const pt2::Argument& a) const {
  const auto named = [this](const std::string& name) {
    if (const Binding* b = find(name)) return *b;
    fail(ErrorCode::bad_file, fmt::format("'{}' is used before it is defined", name));
  };
  switch (a.kind) {
    case Kind::none: return {};
    case Kind::tensor:
    case Kind::custom_obj: return named(a.name);
    case Kind::integer: return Binding::integer(a.integer);
    case Kind::boolean: return Binding::boolean(a.boolean);
    case Kind::real: return Binding::real(a.real);
    case Kind::sym_int: return a.name.empty() ? Binding::integer(a.integer) : named(a.name);
    case Kind::sym_bool: return a.name.empty() ? Binding::boolean(a.boolean) : named(a.name);
    case Kind::sym_float: return a.name.empty() ? Binding::real(a.real) : named(a.name);
    case Kind::string: {
      Binding b;
      b.kind = Binding::Kind::text;
      b.text = a.text;
      return b;
    }
    default: break;
  }
  fail(ErrorCode::unsupported, fmt::format("an argument of kind {} cannot stand here", pt2::tag_of(a.kind)));
}

ValueId Walker::value_of(const Binding& b) {
  switch (b.kind) {
    case BindingKind::none: return kNoValue;
    case BindingKind::tensor: return aliases_.read(b.ref);
    case BindingKind::integer: return builder_.from_dim(b.dim);
    case BindingKind::boolean: return builder_.from_dim(b.dim, DType::boolean);
    case BindingKind::real: return b.value != kNoValue ? b.value : builder_.scalar(b.number, DType::f64);
    case BindingKind::object: fail(ErrorCode::unsupported, fmt::format("a custom object of class {} is used", b.text));
    case BindingKind::text: break;
  }
  fail(ErrorCode::unsupported, "a text stands where a tensor is needed");
}

const pt2::TensorMeta* Walker::meta_of(std::string_view name) const {
  return graph_->tensor_values.find(name);
}

/// Does something for a node: what goes wrong is told with the node's place, and what is unsupported kept for the list.
template <class Act>
void Walker::at_node(const pt2::Node& node, Act act) {
  builder_.set_origin(shared_.options.origins ? shared_.origins.of(node) : -1,
                      shared_.options.annotations ? annotations_of(node) : std::vector<Annotation>{});
  const auto located = [&node](ErrorCode code, const std::string& message) {
    return NodeError(code, message, printable(short_target(node.target)), printable(where(node)));
  };
  try {
    act();
    symbols().require_shallow();
  } catch (const NodeError&) {
    throw;  // of a node inside of this one
  } catch (const WorkExceeded& e) {
    throw located(e.code(), e.what());
  } catch (const Error& e) {
    if (e.code() == ErrorCode::unsupported) {
      shared_.missing.add(node, e.what());
      substitute(node);
      return;
    }
    throw located(e.code(), e.what());
  } catch (const std::out_of_range&) {
    throw located(ErrorCode::bad_file, "the node has fewer operands or results than its operator needs");
  }
}

void Walker::node(const pt2::Node& node) {
  ++shared_.traced_nodes;
  at_node(node, [&] { dispatch(node); });
}

void Walker::run(const pt2::Graph& graph, std::span<const pt2::Node> nodes) {
  const pt2::Graph* outer = graph_;
  graph_ = &graph;
  for (std::size_t i = 0; i < nodes.size();) {
    if (nodes[i].target == "torch._functorch.predispatch._vmap_increment_nesting") {
      std::size_t next = nodes.size();  // where a region that cannot be imported is no use to go on
      at_node(nodes[i], [&] { next = region(graph, nodes, i); });
      i = next;
    } else {
      node(nodes[i]);
      ++i;
    }
  }
  graph_ = outer;
}

void Walker::dispatch(const pt2::Node& node) {
  const std::string_view target = node.target;
  constexpr std::string_view ops = "torch.ops.", control = "torch.ops.higher_order.";
  if (target.starts_with(control)) {
    control_call(node, target.substr(control.size()));
  } else if (target.starts_with(ops)) {
    if (!host_call(node, target.substr(ops.size()))) operator_call(node);
  } else if (!scalar_call(node)) {
    if (target != "torch._functorch.predispatch.lazy_load_decompositions" && target != "torch._C._set_grad_enabled") {
      shared_.missing.add(node);
    }
    substitute(node);
  }
}

void Walker::substitute(const pt2::Node& node) {
  for (const pt2::Argument& output : node.outputs) {
    for (const std::string& name : output_names_of(output)) {
      if (name.empty() || find(name) != nullptr) continue;
      if (output.kind == Kind::sym_int || output.kind == Kind::sym_bool) {
        Dim d;
        if (!recorded(output, &d)) d = pool().new_symbol("size", -kNoBound, kNoBound);
        bind(name, output.kind == Kind::sym_int ? Binding::integer(d) : Binding::boolean(d));
      } else if (output.kind == Kind::sym_float) {
        bind(name, Binding::real_value(builder_.add_value({DType::f64, {}}, name)));
      } else if (const pt2::TensorMeta* meta = meta_of(name)) {
        bind(name, Binding::tensor(aliases_.own(builder_.add_value(symbols().hint(*meta), name))));
      } else {
        bind(name, Binding{});
      }
    }
  }
}

}  // namespace tern::importing
