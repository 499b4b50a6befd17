#include "exporter/import/scope.h"

#include <fmt/format.h>
#include <tern/error.h>

#include "exporter/gradients/detach.h"

namespace tern::importing {

using ArgumentKind = pt2::Argument::Kind;

std::vector<std::string> output_names_of(const pt2::Argument& output) {
  switch (output.kind) {
    case ArgumentKind::tensors:
    case ArgumentKind::optional_tensors: return output.names;
    case ArgumentKind::none: return {""};
    default: return {output.name};
  }
}

const Binding* Scope::find(std::string_view name) const {
  const auto it = bindings_.find(name);
  return it == bindings_.end() ? nullptr : &it->second;
}

void Scope::bind(const std::string& name, Binding b) {
  if (b.kind == Binding::Kind::tensor && !aliases_.is_view(b.ref) && graph_ != nullptr) {
    memory_.try_emplace(b.ref, meta_of(name));
  }
  bindings_.insert_or_assign(name, std::move(b));
}

Binding Scope::binding_of(const pt2::Argument& a) const {
  const auto find_binding = [this](const std::string& name) {
    if (const Binding* b = find(name)) return *b;
    fail(ErrorCode::bad_file, fmt::format("'{}' is used before it is defined", name));
  };
  switch (a.kind) {
    case ArgumentKind::none: return {};
    case ArgumentKind::tensor:
    case ArgumentKind::custom_obj: return find_binding(a.name);
    case ArgumentKind::integer: return Binding::integer(a.integer);
    case ArgumentKind::boolean: return Binding::boolean(a.boolean);
    case ArgumentKind::real: return Binding::real(a.real);
    case ArgumentKind::sym_int: return a.name.empty() ? Binding::integer(a.integer) : find_binding(a.name);
    case ArgumentKind::sym_bool: return a.name.empty() ? Binding::boolean(a.boolean) : find_binding(a.name);
    case ArgumentKind::sym_float: return a.name.empty() ? Binding::real(a.real) : find_binding(a.name);
    case ArgumentKind::string: {
      Binding b;
      b.kind = Binding::Kind::text;
      b.text = a.text;
      return b;
    }
    default: break;
  }
  fail(ErrorCode::unsupported, fmt::format("an argument of kind {} is not allowed here", pt2::tag_of(a.kind)));
}

ValueId Scope::value_of(const Binding& b) {
  switch (b.kind) {
    case Binding::Kind::none: return kNoValue;
    case Binding::Kind::tensor: return aliases_.current_value(b.ref);
    case Binding::Kind::integer: return builder_.from_dim(b.dim);
    case Binding::Kind::boolean: return builder_.from_dim(b.dim, DType::boolean);
    case Binding::Kind::real: return b.value != kNoValue ? b.value : builder_.scalar(b.number, DType::f64);
    case Binding::Kind::object:
      fail(ErrorCode::unsupported, fmt::format("custom objects of class {} are not supported", b.text));
    case Binding::Kind::quantized: return dequantize(builder_, *b.quantized);
    case Binding::Kind::text: break;
  }
  fail(ErrorCode::unsupported, "a string is given where a tensor is needed");
}

std::vector<Binding> Scope::flattened(std::span<const pt2::NamedArgument> arguments) const {
  std::vector<Binding> result;
  for (const pt2::NamedArgument& argument : arguments) {
    const pt2::Argument& a = argument.arg;
    pt2::Argument element;
    switch (a.kind) {
      case ArgumentKind::tensors:
      case ArgumentKind::optional_tensors:
        for (const std::string& name : a.names) {
          element.kind = name.empty() ? ArgumentKind::none : ArgumentKind::tensor;
          element.name = name;
          result.push_back(binding_of(element));
        }
        break;
      case ArgumentKind::ints:
        for (std::int64_t v : a.ints) result.push_back(Binding::integer(v));
        break;
      case ArgumentKind::sym_ints:
        for (const auto& s : a.sym_ints) {
          element.kind = ArgumentKind::sym_int;
          element.name = s.name;
          element.integer = s.value;
          result.push_back(binding_of(element));
        }
        break;
      default: result.push_back(binding_of(a));
    }
  }
  return result;
}

std::vector<Binding> Scope::outputs_of(const pt2::Graph& graph) const {
  std::vector<pt2::NamedArgument> graph_outputs;
  for (const pt2::Argument& a : graph.outputs) graph_outputs.push_back({{}, a});
  return flattened(graph_outputs);
}

ValueId Scope::convert_like(ValueId value, ValueId reference) {
  const Dims shape = builder_.shape(reference);
  return builder_.expand(builder_.cast(value, builder_.dtype(reference)), shape);
}

namespace {

bool can_have_gradient(DType t) {
  return is_floating(t) || is_complex(t);
}

}  // namespace

void Scope::write(const Binding& target, ValueId value) {
  if (target.kind == Binding::Kind::quantized)
    fail(ErrorCode::unsupported, "the program writes a quantized tensor (a tensor subclass) in place");
  if (target.kind != Binding::Kind::tensor)
    fail(ErrorCode::bad_file, "the program writes a value in place that is not a tensor");
  const ValueId old_value = aliases_.current_value(target.ref);
  value = convert_like(value, old_value);
  if (no_grad && can_have_gradient(builder_.dtype(old_value))) value = written_detached(builder_, old_value, value);
  aliases_.write(target.ref, value);
}

}  // namespace tern::importing
