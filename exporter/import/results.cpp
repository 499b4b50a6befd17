// Results of a call, bound to the names of its node: new values, or views of an operand.
#include "exporter/import/results.h"

#include <fmt/format.h>
#include <tern/error.h>

#include "exporter/import/views.h"

namespace tern::importing {
namespace {

using ArgumentKind = pt2::Argument::Kind;

const pt2::Argument* only_tensor(const pt2::Argument* a) {
  return a != nullptr && a->kind == ArgumentKind::tensor ? a : nullptr;
}

}  // namespace

void Results::bind(const pt2::Node& node, const std::vector<ValueId>& results, std::size_t first_node,
                   const pt2::Argument* view_of, const Call& call) {
  std::size_t i = 0;
  view_of = only_tensor(view_of);
  const Binding base = view_of != nullptr ? scope_.binding_of(*view_of) : Binding{};
  const ValueId base_value = base.kind == BindingKind::tensor ? scope_.value_of(base) : kNoValue;
  for (const pt2::Argument& output : node.outputs) {
    for (const std::string& name : output_names_of(output)) {
      const ValueId value = i < results.size() ? results[i] : kNoValue;
      const std::size_t index = i++;
      if (name.empty()) continue;
      if (value == kNoValue) {
        if (index < results.size() || name.find("_unused_") != std::string::npos) {
          scope_.bind(name, Binding{});
          continue;
        }
        fail(ErrorCode::bad_file,
             fmt::format("its operands produce {} results, but the node also names '{}'", results.size(), name));
      }
      if (output.kind == ArgumentKind::sym_int || output.kind == ArgumentKind::sym_bool ||
          output.kind == ArgumentKind::sym_float) {
        pt2::Node element_node = node;
        element_node.outputs = {output};
        scope_.bind(name, scalars_.from_tensor(element_node, value));
        continue;
      }
      check(node, name, value);
      if (base_value == kNoValue || copies(node, *view_of, name, call)) {
        scope_.bind(name, Binding::tensor(aliases_.add_base(value)));
      } else if (value == base_value) {
        scope_.bind(name, base);
      } else {
        auto recompute = [this, call, base_value, index](ValueId v) {
          Call c = call;
          for (auto& [arg, o] : c.args) {
            if (o.kind == CallArgument::Kind::tensor && o.value == base_value) o.value = v;
          }
          return find_lowering(c.target)(builder_, c).at(index);
        };
        ViewStep step = view_step(builder_, call.target, base_value, value, first_node, std::move(recompute));
        if (is_detach(call.target)) step = detached_view_step(builder_);
        if (!step.inverse) part_of_complex(call.target, &step);
        scope_.bind(name, Binding::tensor(aliases_.add_view(base.ref, value, std::move(step))));
      }
    }
  }
}

/// Real and imaginary parts, and conjugates: views in PyTorch, computed values here.
void Results::part_of_complex(const std::string& target, ViewStep* step) {
  Builder& b = builder_;
  const auto inverse = [&](std::string_view text) {
    return [&b, text](ValueId base, ValueId view) {
      const DType t = b.dtype(base);
      return b.expr(text, {{"x", base}, {"v", view}}, t, t);
    };
  };
  if (target == "aten.real.default") step->inverse = inverse("complex(real(v), imag(x))");
  if (target == "aten.imag.default") step->inverse = inverse("complex(real(x), real(v))");
  if (target == "aten._conj.default" || target == "aten.conj.default") step->inverse = inverse("conj(v)");
  if (target == "aten._neg_view.default") step->inverse = inverse("-v");
}

/// Warns if a result's type differs from PyTorch's record. Either the lowering is wrong or PyTorch's own shape rule
/// (the rules of bincount and embedding_bag differ from their kernels).
void Results::check(const pt2::Node& node, const std::string& name, ValueId value) {
  const pt2::TensorMeta* meta = scope_.meta_of(name);
  if (meta == nullptr) return;
  const TensorType& type = builder_.type(value);
  bool is_same = type.dtype == meta->dtype && type.shape.size() == meta->sizes.size();
  for (std::size_t i = 0; is_same && i < type.shape.size(); ++i) {
    const Dim d = type.shape[i];
    is_same = !d.is_const() || !meta->sizes[i].is_literal() || d.value() == meta->sizes[i].value;
  }
  constexpr std::size_t kMaxWarnings = 100;
  if (is_same || shared_.warnings.size() >= kMaxWarnings) return;
  shared_.warnings.push_back(fmt::format("{} is lowered to {}, but PyTorch recorded {} ({})", short_target(node.target),
                                         text_of(type, pool()), text_of(symbols().hint(*meta), pool()),
                                         position_text(node)));
}

bool Results::copies(const pt2::Node& node, const pt2::Argument& viewed, const std::string& result_name,
                     const Call& call) const {
  const std::string_view target = call.target;
  const std::string_view base = target.substr(0, target.rfind('.'));
  const RecordedLayout a = scope_.layout_of(viewed.name), b = scope_.layout_of(result_name);
  if (base == "aten.to" || base == "aten.contiguous" || base == "aten.type_as") {
    const pt2::TensorMeta *x = scope_.meta_of(viewed.name), *y = scope_.meta_of(result_name);
    if (x == nullptr || y == nullptr || x->dtype != y->dtype) return true;
    for (const auto& [name, o] : call.args) {
      if (name == "copy" && o.kind == CallArgument::Kind::boolean && !o.integer.is(0)) return true;
    }
    if (!a.is_known || !b.is_known) return false;
    for (std::size_t i = 0; i < a.sizes.size(); ++i) {
      if (a.sizes[i] > 1 && a.strides[i] != b.strides[i]) return true;
    }
    return false;
  }
  if (base == "aten.reshape" || base == "aten.reshape_as" || base == "aten.flatten" || base == "aten.ravel") {
    return reshape_copies(a, b);
  }
  return false;
}

}  // namespace tern::importing
