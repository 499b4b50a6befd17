// softmax, and the single-node normalizations.
#include "exporter/lower/normalization.h"

#include <limits>

namespace tern {

std::vector<ValueId> group_norm_node(Builder& b, const Call& c, std::int64_t groups, DType statistics) {
  return b.add_all(
      Op::group_norm, {c.tensor("input"), c.tensor_or_none("weight"), c.tensor_or_none("bias")},
      {attr(AttrKey::groups, groups), attr_number(AttrKey::epsilon, c.number("eps")), attr_dtype(statistics)});
}
namespace {

using Values = std::vector<ValueId>;

ValueId softmax_along(Builder& b, ValueId x, std::int64_t axis, bool log, DType result) {
  const Dims shape = b.shape(x);
  // PyTorch converts lossy inputs first.
  const DType source_dtype = b.dtype(x);
  if (!is_floating(source_dtype) || element_size(result) < element_size(source_dtype)) x = b.cast(x, result);
  const ValueId line = at_least_1d(b, x);
  const ValueId y =
      b.add(Op::softmax, {line},
            {attr(AttrKey::axis, b.normal_axis(line, axis)), attr(AttrKey::log, Dim(log)), attr_dtype(result)});
  return b.reshape(y, shape);
}
template <bool kLog>
Values softmax(Builder& b, const Call& c) {
  return {softmax_along(b, c.tensor("self"), c.integer("dim"), kLog, c.result_dtype())};
}
/// Lines of -inf alone give 0.
Values safe_softmax(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  const ValueId y = softmax_along(b, x, c.integer("dim"), false, c.result_dtype());
  const ValueId top = b.reduce(x, "max", {c.integer("dim")}, true, b.dtype(x));
  return {b.expr("t == -inf ? 0 : y", {{"t", top}, {"y", y}}, c.result_dtype())};
}

/// Masked elements are excluded. For [B, H, L, L], a mask of type 0 is [L, L], a mask of type 1 [B, L].
Values masked_softmax(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  ValueId mask = b.cast(c.tensor("mask"), DType::boolean);
  const std::int64_t type = c.integer_or("mask_type", 2);
  if (type == 1) {
    if (b.rank(mask) != 2 || b.rank(x) != 4) c.unsupported("a padding mask must be [B, L] for [B, H, L, L]");
    mask = b.reshape(mask, {b.size(mask, 0), 1, 1, b.size(mask, 1)});
  }
  const DType t = b.dtype(x);
  const ValueId unmasked = b.expr("m ? -inf : x", {{"m", b.expand(mask, b.shape(x))}, {"x", x}}, t);
  return {softmax_along(b, unmasked, c.integer_or("dim", -1), false, c.result_dtype())};
}

Values layer_norm_node(Builder& b, const Call& c, DType statistics) {
  return b.add_all(Op::layer_norm, {c.tensor("input"), c.tensor_or_none("weight"), c.tensor_or_none("bias")},
                   {attr(AttrKey::k, static_cast<std::int64_t>(c.dims("normalized_shape").size())),
                    attr_number(AttrKey::epsilon, c.number("eps")), attr_dtype(statistics)});
}
Values layer_norm(Builder& b, const Call& c) {
  return {layer_norm_node(b, c, compute_type(b.dtype(c.tensor("input"))))[0]};
}
Values native_layer_norm(Builder& b, const Call& c) {
  return layer_norm_node(b, c, c.result_dtype(1));
}

double epsilon_or_smallest(const Call& c, DType t) {
  const double smallest =
      t == DType::f64 ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
  return c.number_or("eps", smallest);
}
ValueId rms_norm_node(Builder& b, const Call& c) {
  const ValueId x = c.tensor("input");
  return b.add(Op::rms_norm, {x, c.tensor_or_none("weight")},
               {attr(AttrKey::k, static_cast<std::int64_t>(c.dims("normalized_shape").size())),
                attr_number(AttrKey::epsilon, epsilon_or_smallest(c, b.dtype(x)))});
}
Values rms_norm(Builder& b, const Call& c) {
  const ValueId x = c.tensor("input");
  if (is_complex(b.dtype(x))) {  // the plain formula, with a complex square
    const DType compute_dtype = compute_type(b.dtype(x));
    std::vector<std::int64_t> axes;
    for (std::size_t i = 0; i < c.dims("normalized_shape").size(); ++i)
      axes.push_back(-1 - static_cast<std::int64_t>(i));
    const ValueId mean = b.reduce(b.expr("x * x", {{"x", x}}, compute_dtype), "mean", axes, true, compute_dtype);
    const ValueId w = c.has_argument("weight") ? c.tensor("weight") : b.full({}, 1, compute_dtype);
    const double e = epsilon_or_smallest(c, compute_dtype == DType::c128 ? DType::f64 : DType::f32);
    return {b.expr("x * rsqrt(m + e) * w", {{"x", x}, {"m", mean}, {"e", e}, {"w", w}}, c.result_dtype())};
  }
  return {b.cast(rms_norm_node(b, c), c.result_dtype())};
}
Values fused_rms_norm(Builder& b, const Call& c) {
  const ValueId x = c.tensor("input");
  const DType compute_dtype = compute_type(b.dtype(x));
  std::vector<std::int64_t> axes;
  for (std::size_t i = 0; i < c.dims("normalized_shape").size(); ++i) axes.push_back(-1 - static_cast<std::int64_t>(i));
  const ValueId mean = b.reduce(b.expr("x * x", {{"x", x}}, compute_dtype), "mean", axes, true, compute_dtype);
  const ValueId rstd =
      b.expr("rsqrt(m + e)", {{"m", mean}, {"e", epsilon_or_smallest(c, b.dtype(x))}}, c.result_dtype(1));
  return {rms_norm_node(b, c), rstd};
}

Values group_norm(Builder& b, const Call& c) {
  return {group_norm_node(b, c, c.integer("num_groups"), compute_type(b.dtype(c.tensor("input"))))[0]};
}
Values native_group_norm(Builder& b, const Call& c) {
  return group_norm_node(b, c, c.integer("group"), c.result_dtype(1));
}

constexpr Lowering kNormalizationLowerings[] = {
    {"aten.softmax.int", softmax<false>},
    {"aten._softmax.default", softmax<false>},
    {"aten.special_softmax.default", softmax<false>},
    {"aten._safe_softmax.default", safe_softmax},
    {"aten._masked_softmax.default", masked_softmax},
    {"aten.log_softmax.int", softmax<true>},
    {"aten._log_softmax.default", softmax<true>},
    {"aten.special_log_softmax.default", softmax<true>},
    {"aten.layer_norm.default", layer_norm},
    {"aten.native_layer_norm.default", native_layer_norm},
    {"aten.rms_norm.default", rms_norm},
    {"aten._fused_rms_norm.default", fused_rms_norm},
    {"aten.group_norm.default", group_norm},
    {"aten.native_group_norm.default", native_group_norm},
};

}  // namespace

std::span<const Lowering> normalization_lowerings() {
  static const std::vector<Lowering> lowerings = [] {
    std::vector<Lowering> v(std::begin(kNormalizationLowerings), std::end(kNormalizationLowerings));
    const auto batch = batch_norm_lowerings();
    v.insert(v.end(), batch.begin(), batch.end());
    return v;
  }();
  return lowerings;
}

}  // namespace tern
