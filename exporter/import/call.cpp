// Operators that compute: arguments bound to the schema, lowered, results bound to names.
#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <set>

#include "exporter/import/twins.h"
#include "exporter/import/walker.h"
#include "kernels/custom/library.h"

namespace tern::importing {
namespace {

using Kind = pt2::Argument::Kind;

/// Operators that return their operand itself, or a view of it, without saying so in their schema. (Dropout only when
/// it is not training.)
bool aliases_silently(std::string_view base) {
  static const std::set<std::string_view> names = {
      "aten::type_as",           "aten::atleast_1d",      "aten::atleast_2d",    "aten::atleast_3d",
      "aten::dropout",           "aten::feature_dropout", "aten::alpha_dropout", "aten::feature_alpha_dropout",
      "aten::broadcast_tensors", "aten::meshgrid"};
  return names.contains(base);
}

std::set<std::string_view> autocast_ops() {
  return {"aten.conv1d.default",
          "aten.conv2d.default",
          "aten.conv3d.default",
          "aten.convolution.default",
          "aten.conv_transpose1d.default",
          "aten.conv_transpose2d.input",
          "aten.conv_transpose3d.input",
          "aten.bmm.default",
          "aten.mm.default",
          "aten.linalg_vecdot.default",
          "aten.baddbmm.default",
          "aten.addmm.default",
          "aten.addbmm.default",
          "aten.linear.default",
          "aten.matmul.default",
          "aten.scaled_dot_product_attention.default"};
}

}  // namespace

Call Walker::bind_call(const pt2::Node& node, const pt2::Schema* schema) {
  Call call;
  call.target = short_target(node.target);
  call.torch_version = shared_.model.torch_version;
  call.builder = &builder_;
  if (schema == nullptr) {
    for (const pt2::NamedArgument& in : node.inputs) call.args.emplace_back(in.name, operand(in.arg));
  } else {
    std::size_t positional = 0;
    for (const pt2::SchemaArgument& a : schema->arguments) {
      const pt2::Argument* given = node.find_input(a.name);
      if (given == nullptr && !a.kwarg_only && positional < node.inputs.size() &&
          node.inputs[positional].name.empty()) {
        given = &node.inputs[positional].arg;
      }
      ++positional;
      if (given == nullptr && !a.has_default && !a.type.optional) {
        fail(ErrorCode::bad_file, fmt::format("argument '{}' is missing", a.name));
      }
      call.args.emplace_back(a.name, given != nullptr ? operand(*given, a.type) : operand(a.default_value, a.type));
    }
    for (const pt2::NamedArgument& in : node.inputs) {
      if (!in.name.empty() && schema->find(in.name) == nullptr) {
        fail(ErrorCode::bad_file, fmt::format("'{}' is no argument of {}", in.name, schema->text));
      }
    }
  }
  for (const pt2::Argument& output : node.outputs) {
    for (const std::string& name : output_names_of(output)) {
      const pt2::TensorMeta* meta = name.empty() ? nullptr : meta_of(name);
      call.declared.push_back(meta == nullptr ? TensorType{} : symbols().hint(*meta));
    }
  }
  if (autocast_ != DType::invalid && !call.declared.empty() && call.declared[0].dtype == autocast_ &&
      autocast_ops().contains(call.target)) {
    for (auto& [name, o] : call.args) {
      if (o.kind == Operand::Kind::tensor && is_floating(builder_.dtype(o.value)) &&
          builder_.dtype(o.value) != DType::f64) {
        o.value = builder_.cast(o.value, autocast_);
      }
    }
  }
  return call;
}

std::vector<ValueId> Walker::lower(const pt2::Node& node, const Call& call) {
  const LowerFn lowering = find_lowering(call.target);
  if (lowering == nullptr) fail(ErrorCode::internal, fmt::format("{} has no lowering", call.target));
  return lowering(builder_, call);
}

void Walker::operator_call(const pt2::Node& node) {
  const pt2::Schema* schema = pt2::find_schema(node);
  if (schema != nullptr && schema->mutates()) {
    mutating_call(node, *schema);
    return;
  }
  const Call call = bind_call(node, schema);
  if (batch_norm_training(node, call) || strided_call(node, call)) return;
  if (!has_lowering(call.target)) {
    if (schema == nullptr && (shared_.options.custom_ops || find_custom_op(custom_op_name(call.target)) != nullptr)) {
      custom_call(node, call);
    } else {
      shared_.missing.add(node);
      substitute(node);
    }
    return;
  }
  const std::size_t first_node = builder_.function().nodes.size();
  const std::vector<ValueId> results = lower(node, call);
  const pt2::Argument* view_of = nullptr;
  if (schema != nullptr && !schema->arguments.empty()) {
    bool alias = aliases_silently(base_of(schema->name));
    if (schema->find("train") != nullptr && call.flag_or("train", false)) alias = false;
    std::string_view from = schema->arguments[0].name;
    for (const pt2::SchemaArgument& r : schema->returns) {
      if (!r.is_alias()) continue;
      alias = true;
      for (const pt2::SchemaArgument& a : schema->arguments) {
        if (a.is_alias()) from = a.name;
      }
    }
    if (alias) view_of = node.find_input(from);
  }
  bind_results(node, results, first_node, view_of, call);
}

const pt2::Argument* only_tensor(const pt2::Argument* a) {
  return a != nullptr && a->kind == Kind::tensor ? a : nullptr;
}

void Walker::bind_results(const pt2::Node& node, const std::vector<ValueId>& results, std::size_t first_node,
                          const pt2::Argument* view_of, const Call& call) {
  std::size_t i = 0;
  view_of = only_tensor(view_of);
  const Binding base = view_of != nullptr ? binding_of(*view_of) : Binding{};
  const ValueId of = base.kind == BindingKind::tensor ? value_of(base) : kNoValue;
  for (const pt2::Argument& output : node.outputs) {
    for (const std::string& name : output_names_of(output)) {
      const ValueId value = i < results.size() ? results[i] : kNoValue;
      const std::size_t index = i++;
      if (name.empty()) continue;
      if (value == kNoValue) {
        if (index < results.size() || name.find("_unused_") != std::string::npos) {
          bind(name, Binding{});
          continue;
        }
        fail(ErrorCode::bad_file,
             fmt::format("its operands give {} results, and the node names '{}' as one more", results.size(), name));
      }
      if (output.kind == Kind::sym_int || output.kind == Kind::sym_bool || output.kind == Kind::sym_float) {
        pt2::Node one = node;
        one.outputs = {output};
        bind(name, from_tensor(one, value));
        continue;
      }
      check_result(node, name, value);
      if (of == kNoValue || copies(node, *view_of, name, call)) {
        bind(name, Binding::tensor(aliases_.own(value)));
      } else if (value == of) {
        bind(name, base);
      } else {
        auto again = [this, call, of, index](ValueId v) {
          Call c = call;
          for (auto& [arg, o] : c.args) {
            if (o.kind == Operand::Kind::tensor && o.value == of) o.value = v;
          }
          return find_lowering(c.target)(builder_, c).at(index);
        };
        ViewStep step = view_step(builder_, call.target, of, value, first_node, std::move(again));
        if (!step.inverse) part_of_complex(call.target, &step);
        bind(name, Binding::tensor(aliases_.view(base.ref, value, std::move(step))));
      }
    }
  }
}

/// Views that are no views here: the parts of complex numbers, and conjugates.
void Walker::part_of_complex(const std::string& target, ViewStep* step) {
  Builder& b = builder_;
  const auto inverse = [&](std::string_view text) {
    return [&b, text](ValueId of, ValueId view) {
      const DType t = b.dtype(of);
      return b.expr(text, {{"x", of}, {"v", view}}, t, t);
    };
  };
  if (target == "aten.real.default") step->inverse = inverse("complex(real(v), imag(x))");
  if (target == "aten.imag.default") step->inverse = inverse("complex(real(x), real(v))");
  if (target == "aten._conj.default" || target == "aten.conj.default") step->inverse = inverse("conj(v)");
  if (target == "aten._neg_view.default") step->inverse = inverse("-v");
}

/// Notes a result of another type than PyTorch recorded: either the lowering is wrong, or PyTorch's own shape rule
/// (those of bincount and embedding_bag do not say what their kernels give).
void Walker::check_result(const pt2::Node& node, const std::string& name, ValueId value) {
  const pt2::TensorMeta* meta = meta_of(name);
  if (meta == nullptr) return;
  const TensorType& type = builder_.type(value);
  bool same = type.dtype == meta->dtype && type.shape.size() == meta->sizes.size();
  for (std::size_t i = 0; same && i < type.shape.size(); ++i) {
    const Dim d = type.shape[i];
    same = !d.is_const() || !meta->sizes[i].is_literal() || d.value() == meta->sizes[i].value;
  }
  constexpr std::size_t kMost = 100;
  if (same || shared_.warnings.size() >= kMost) return;
  shared_.warnings.push_back(fmt::format("{} is lowered to {}, and PyTorch recorded {} ({})", short_target(node.target),
                                         text_of(type, pool()), text_of(symbols().hint(*meta), pool()), where(node)));
}

Layout Walker::layout_of(const std::string& name) const {
  Layout l;
  const pt2::TensorMeta* meta = meta_of(name);
  if (meta == nullptr || meta->strides.size() != meta->sizes.size()) return l;
  const auto read = [](const std::vector<pt2::SymInt>& from, std::vector<std::int64_t>* to) {
    for (const pt2::SymInt& s : from) {
      if (!s.is_literal() && !s.hint) return false;
      to->push_back(s.is_literal() ? s.value : *s.hint);
    }
    return true;
  };
  l.known = read(meta->sizes, &l.sizes) && read(meta->strides, &l.strides);
  return l;
}

bool Walker::copies(const pt2::Node& node, const pt2::Argument& from, const std::string& to, const Call& call) const {
  const std::string_view target = call.target;
  const std::string_view base = target.substr(0, target.rfind('.'));
  const Layout a = layout_of(from.name), b = layout_of(to);
  if (base == "aten.to" || base == "aten.contiguous" || base == "aten.type_as") {
    const pt2::TensorMeta *x = meta_of(from.name), *y = meta_of(to);
    if (x == nullptr || y == nullptr || x->dtype != y->dtype) return true;
    for (const auto& [name, o] : call.args) {
      if (name == "copy" && o.kind == Operand::Kind::boolean && !o.integer.is(0)) return true;
    }
    if (!a.known || !b.known) return false;
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
