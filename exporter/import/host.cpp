// Operators to query sizes, read a number off a tensor, assert, or with no effect outside PyTorch.
#include "exporter/import/host.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <string_view>

#include "exporter/import/names.h"

namespace tern::importing {
namespace {

using ArgumentKind = pt2::Argument::Kind;

std::string text_of(const pt2::Node& node, std::string_view argument, std::string_view otherwise) {
  const pt2::Argument* a = node.find_input(argument);
  return a != nullptr && a->kind == ArgumentKind::string ? a->text : std::string(otherwise);
}

}  // namespace

bool HostCalls::call(const pt2::Node& node, std::string_view target) {
  const auto input = [&](std::size_t i) -> const pt2::Argument& {
    if (i >= node.inputs.size()) fail(ErrorCode::bad_file, fmt::format("operand {} is missing", i));
    return node.inputs[i].arg;
  };
  const auto axis_at = [&](std::size_t i) {
    const Binding b = scope_.binding_of(input(i));
    if (!b.is_dim() || !b.dim.is_const()) fail(ErrorCode::bad_file, "the axis is not a constant");
    return b.dim.value();
  };
  const auto set = [&](Binding b) {
    if (!node.outputs.empty() && !node.outputs[0].name.empty()) scope_.bind(node.outputs[0].name, std::move(b));
    return true;
  };
  if (contains(names_without_effect(), target)) {
    scope_.substitute(node);
    return true;
  }
  if (!contains(host_names(), target)) return false;
  if (target == "aten.sym_size.int") {
    return set(Binding::integer(builder_.size(scope_.tensor_of(input(0)), axis_at(1))));
  }
  if (target == "aten.sym_numel.default" || target == "aten.numel.default") {
    return set(Binding::integer(builder_.numel(scope_.tensor_of(input(0)))));
  }
  if (target == "aten.sym_stride.int" || target == "aten.sym_storage_offset.default" ||
      target == "aten.sym_is_contiguous.default") {
    // Tern lays out memory anew: the program means PyTorch's record of the tensor.
    Dim d;
    if (!node.outputs.empty() && scope_.recorded(node.outputs[0], &d)) {
      return set(node.outputs[0].kind == ArgumentKind::sym_bool ? Binding::boolean(d) : Binding::integer(d));
    }
    const pt2::TensorMeta* meta = scope_.meta_of(input(0).name);
    if (meta == nullptr) fail(ErrorCode::bad_file, "the strides of the tensor are not recorded");
    if (target == "aten.sym_is_contiguous.default") return set(Binding::boolean(1));
    if (target == "aten.sym_storage_offset.default") return set(Binding::integer(symbols().dim(meta->storage_offset)));
    std::int64_t axis = axis_at(1);
    if (axis < 0) axis += static_cast<std::int64_t>(meta->strides.size());
    if (axis < 0 || axis >= static_cast<std::int64_t>(meta->strides.size()))
      fail(ErrorCode::bad_file, "sym_stride: the axis does not exist");
    return set(Binding::integer(symbols().dim(meta->strides[static_cast<std::size_t>(axis)])));
  }
  if (target == "aten.item.default" || target == "aten._local_scalar_dense.default") {
    if (node.outputs.empty()) return true;
    return set(scalars_.from_tensor(node, scope_.tensor_of(input(0))));
  }
  if (target == "aten._assert_scalar.default" || target == "aten._functional_assert_scalar.default") {
    const Binding b = scope_.binding_of(input(0));
    if (b.is_dim()) {
      scalars_.assert_dim(b.dim, text_of(node, "assert_msg", "an assertion of the program"));
    } else {
      builder_.add_all(Op::assert_true,
                       {builder_.expr("x != 0", {{"x", scope_.value_of(b)}}, DType::f64, DType::boolean)},
                       {attr_text(AttrKey::text, text_of(node, "assert_msg", "an assertion of the program"))});
    }
    scope_.substitute(node);
    return true;
  }
  if (target == "aten._assert_async.default" || target == "aten._assert_async.msg" ||
      target == "aten._functional_assert_async.msg") {
    ValueId v = scope_.tensor_of(input(0));
    if (builder_.rank(v) != 0) v = builder_.reshape(v, {});
    if (builder_.dtype(v) != DType::boolean) v = builder_.expr("x != 0", {{"x", v}}, builder_.dtype(v), DType::boolean);
    builder_.add_all(Op::assert_true, {v},
                     {attr_text(AttrKey::text, text_of(node, "assert_msg", "an assertion of the program"))});
    scope_.substitute(node);
    return true;
  }
  fail(ErrorCode::internal, fmt::format("{} is in the table of the host's operators only", target));
}

}  // namespace tern::importing
