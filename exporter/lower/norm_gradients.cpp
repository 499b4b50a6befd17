// Gradients of softmax and the normalizations, found in joint graphs.
#include "exporter/lower/gradients.h"

namespace tern {
namespace {

using Values = std::vector<ValueId>;

Values softmax_backward(Builder& b, const Call& c) {
  const ValueId g = c.tensor("grad_output"), y = c.tensor("output");
  const DType wide = compute_type(b.dtype(y));
  const ValueId product = b.expr("g * y", {{"g", g}, {"y", y}}, wide);
  const ValueId sum = b.reduce(product, "sum", {c.integer("dim")}, true, wide);
  return {b.expr("p - y * s", {{"p", product}, {"y", y}, {"s", sum}}, wide, c.result_dtype())};
}
Values log_softmax_backward(Builder& b, const Call& c) {
  const ValueId g = c.tensor("grad_output"), y = c.tensor("output");
  const DType wide = compute_type(b.dtype(y));
  const ValueId sum = b.reduce(g, "sum", {c.integer("dim")}, true, wide);
  return {b.expr("g - exp(y) * s", {{"g", g}, {"y", y}, {"s", sum}}, wide, c.result_dtype())};
}

/// Let xhat = (x - mean) * rstd and g = grad * weight; dx = rstd * (g - mean(g) - xhat * mean(g * xhat)).
Values layer_norm_backward(Builder& b, const Call& c) {
  const ValueId x = c.tensor("input"), grad = c.tensor("grad_out");
  const DType t = b.dtype(x), wide = compute_type(t);
  const int k = static_cast<int>(c.dims("normalized_shape").size()), rank = b.rank(x);
  std::vector<std::int64_t> inner, outer;
  for (int i = 0; i < rank; ++i) (i < rank - k ? outer : inner).push_back(i);
  const ValueId hat = b.expr("(x - m) * r", {{"x", x}, {"m", c.tensor("mean")}, {"r", c.tensor("rstd")}}, wide);
  const ValueId g =
      c.has("weight") ? b.expr("g * w", {{"g", grad}, {"w", c.tensor("weight")}}, wide) : b.cast(grad, wide);
  const ValueId mean_g = b.reduce(g, "mean", inner, true, wide);
  const ValueId mean_gh = b.reduce(b.expr("g * h", {{"g", g}, {"h", hat}}, wide), "mean", inner, true, wide);
  const ValueId dx = b.expr("r * (g - a - h * b)",
                            {{"r", c.tensor("rstd")}, {"g", g}, {"a", mean_g}, {"h", hat}, {"b", mean_gh}}, wide, t);
  const auto summed = [&](ValueId v) { return outer.empty() ? b.cast(v, t) : b.reduce(v, "sum", outer, false, t); };
  const Dims mask = c.dims("output_mask");
  Values r = {dx, kNoValue, kNoValue};
  if (mask.at(1).is(1)) r[1] = summed(b.expr("g * h", {{"g", grad}, {"h", hat}}, wide));
  if (mask.at(2).is(1)) r[2] = summed(b.cast(grad, wide));
  return r;
}

/// Layer norm's formula over all axes but the channels' in training; the statistics are constants in evaluation.
Values batch_norm_backward(Builder& b, const Call& c) {
  const ValueId x = c.tensor("input"), grad = c.tensor("grad_out");
  const DType t = b.dtype(x), wide = compute_type(t);
  const bool train = c.flag("train");
  Dims per_channel(static_cast<std::size_t>(b.rank(x)), 1);
  per_channel[1] = b.size(x, 1);
  std::vector<std::int64_t> axes = b.all_axes(x);
  axes.erase(axes.begin() + 1);
  const auto spread = [&](ValueId v) { return b.reshape(v, per_channel); };
  const ValueId mean = spread(train ? c.tensor("save_mean") : c.tensor("running_mean"));
  const ValueId rstd =
      spread(train ? c.tensor("save_invstd")
                   : b.expr("rsqrt(v + e)", {{"v", c.tensor("running_var")}, {"e", c.number("eps")}}, wide));
  const ValueId hat = b.expr("(x - m) * r", {{"x", x}, {"m", mean}, {"r", rstd}}, wide);
  const ValueId grad_hat = b.expr("g * h", {{"g", grad}, {"h", hat}}, wide);
  const ValueId weight = c.has("weight") ? spread(c.tensor("weight")) : b.full({}, 1, wide);
  Values r = {kNoValue, kNoValue, kNoValue};
  if (train) {
    const ValueId mean_g = b.reduce(grad, "mean", axes, true, wide),
                  mean_gh = b.reduce(grad_hat, "mean", axes, true, wide);
    r[0] = b.expr("r * w * (g - a - h * b)",
                  {{"r", rstd}, {"w", weight}, {"g", grad}, {"a", mean_g}, {"h", hat}, {"b", mean_gh}}, wide, t);
  } else {
    r[0] = b.expr("r * w * g", {{"r", rstd}, {"w", weight}, {"g", grad}}, wide, t);
  }
  const Dims mask = c.dims("output_mask");
  const DType parameter = c.has("weight") ? b.dtype(c.tensor("weight")) : t;
  if (mask.at(1).is(1)) r[1] = b.reduce(grad_hat, "sum", axes, false, parameter);
  if (mask.at(2).is(1)) r[2] = b.reduce(grad, "sum", axes, false, parameter);
  return r;
}

/// Layer norm's formula over each group of channels.
Values group_norm_backward(Builder& b, const Call& c) {
  const ValueId x = c.tensor("input"), grad = c.tensor("grad_out");
  const DType t = b.dtype(x), wide = compute_type(t);
  const Dims shape = b.shape(x);
  const Dim n = shape[0], channels = shape[1], groups = c.integer("group");
  const Dim per_group = b.pool().floordiv(channels, groups);
  const Dim inner = b.pool().product(std::span<const Dim>(shape).subspan(2));
  const Dims grouped = {n, groups, per_group, inner};
  const auto spread = [&](ValueId v) { return b.reshape(v, {n, groups, 1, 1}); };
  const ValueId xs = b.reshape(x, grouped), gs = b.reshape(grad, grouped);
  const ValueId rstd = spread(c.tensor("rstd"));
  const ValueId hat = b.expr("(x - m) * r", {{"x", xs}, {"m", spread(c.tensor("mean"))}, {"r", rstd}}, wide);
  ValueId g = b.cast(gs, wide);
  if (c.has("weight"))
    g = b.expr("g * w", {{"g", gs}, {"w", b.reshape(c.tensor("weight"), {1, groups, per_group, 1})}}, wide);
  const ValueId mean_g = b.reduce(g, "mean", {2, 3}, true, wide);
  const ValueId mean_gh = b.reduce(b.expr("g * h", {{"g", g}, {"h", hat}}, wide), "mean", {2, 3}, true, wide);
  const ValueId dx =
      b.expr("r * (g - a - h * b)", {{"r", rstd}, {"g", g}, {"a", mean_g}, {"h", hat}, {"b", mean_gh}}, wide, t);
  const Dims mask = c.dims("output_mask");
  Values r = {b.reshape(dx, shape), kNoValue, kNoValue};
  const auto summed = [&](ValueId v) { return b.reshape(b.reduce(v, "sum", {0, 3}, false, t), {channels}); };
  if (mask.at(1).is(1)) r[1] = summed(b.expr("g * h", {{"g", gs}, {"h", hat}}, wide));
  if (mask.at(2).is(1)) r[2] = summed(gs);
  return r;
}

constexpr Lowering kTable[] = {
    {"aten._softmax_backward_data.default", softmax_backward},
    {"aten._log_softmax_backward_data.default", log_softmax_backward},
    {"aten.native_layer_norm_backward.default", layer_norm_backward},
    {"aten.native_batch_norm_backward.default", batch_norm_backward},
    {"aten.native_group_norm_backward.default", group_norm_backward},
};

}  // namespace

std::span<const Lowering> norm_gradient_lowerings() {
  return kTable;
}

}  // namespace tern
