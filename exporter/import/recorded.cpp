// PyTorch's records of a graph's values.
#include "exporter/import/scope.h"

namespace tern::importing {

using ArgumentKind = pt2::Argument::Kind;

const pt2::TensorMeta* Scope::meta_of(std::string_view name) const {
  return graph_->tensor_values.find(name);
}

bool Scope::memory(RefId owner, const pt2::TensorMeta** meta) const {
  const auto found = memory_.find(owner);
  if (found == memory_.end()) return false;
  *meta = found->second;
  return true;
}

RecordedLayout Scope::layout_of(const std::string& name) const {
  RecordedLayout l;
  const pt2::TensorMeta* meta = meta_of(name);
  if (meta == nullptr || meta->strides.size() != meta->sizes.size()) return l;
  const auto read_literals = [](const std::vector<pt2::SymInt>& source, std::vector<std::int64_t>* target) {
    for (const pt2::SymInt& s : source) {
      if (!s.is_literal() && !s.hint) return false;
      target->push_back(s.is_literal() ? s.value : *s.hint);
    }
    return true;
  };
  l.is_known = read_literals(meta->sizes, &l.sizes) && read_literals(meta->strides, &l.strides);
  return l;
}

bool Scope::recorded(const pt2::Argument& output, Dim* dim) const {
  const auto take_value = [&](const auto* value) {
    if (value == nullptr) return false;
    if (value->is_literal()) {
      *dim = static_cast<std::int64_t>(value->value);
      return true;
    }
    return shared_.symbols.try_dim(value->expr, dim);
  };
  if (output.kind == ArgumentKind::sym_int) return take_value(graph_->sym_int_values.find(output.name));
  if (output.kind == ArgumentKind::sym_bool) return take_value(graph_->sym_bool_values.find(output.name));
  return false;
}

void Scope::substitute(const pt2::Node& node) {
  for (const pt2::Argument& output : node.outputs) {
    for (const std::string& name : output_names_of(output)) {
      if (name.empty() || find(name) != nullptr) continue;
      if (output.kind == ArgumentKind::sym_int || output.kind == ArgumentKind::sym_bool) {
        Dim d;
        if (!recorded(output, &d)) d = pool().new_symbol("size", -kNoBound, kNoBound);
        bind(name, output.kind == ArgumentKind::sym_int ? Binding::integer(d) : Binding::boolean(d));
      } else if (output.kind == ArgumentKind::sym_float) {
        bind(name, Binding::real_value(builder_.add_value({DType::f64, {}}, name)));
      } else if (const pt2::TensorMeta* meta = meta_of(name)) {
        bind(name, Binding::tensor(aliases_.add_base(builder_.add_value(symbols().hint(*meta), name))));
      } else {
        bind(name, Binding{});
      }
    }
  }
}

}  // namespace tern::importing
