// softmax and the normalizations, with the gradients that joint graphs hold of them.
#include <limits>

#include "exporter/lower/reduction.h"

namespace tern {
namespace {

using Values = std::vector<ValueId>;

ValueId softmax_along(Builder& b, ValueId x, std::int64_t axis, bool log, DType result) {
  const Dims shape = b.shape(x);
  // As PyTorch: converted first, where that loses something.
  const DType from = b.dtype(x);
  if (!is_floating(from) || element_size(result) < element_size(from)) x = b.cast(x, result);
  const ValueId line = with_axis(b, x);
  const ValueId y =
      b.add(Op::softmax, {line},
            {attr(AttrKey::axis, b.normal_axis(line, axis)), attr(AttrKey::log, Dim(log)), attr_dtype(result)});
  return b.reshape(y, shape);
}
template <bool kLog>
Values softmax(Builder& b, const Call& c) {
  return {softmax_along(b, c.tensor("self"), c.integer("dim"), kLog, c.result_dtype())};
}
/// Lines of nothing but -inf give 0.
Values safe_softmax(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  const ValueId y = softmax_along(b, x, c.integer("dim"), false, c.result_dtype());
  const ValueId top = b.reduce(x, "max", {c.integer("dim")}, true, b.dtype(x));
  return {b.expr("t == -inf ? 0 : y", {{"t", top}, {"y", y}}, c.result_dtype())};
}

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
  if (is_complex(b.dtype(x))) {  // the formula as it stands, with a complex square
    const DType wide = compute_type(b.dtype(x));
    std::vector<std::int64_t> axes;
    for (std::size_t i = 0; i < c.dims("normalized_shape").size(); ++i)
      axes.push_back(-1 - static_cast<std::int64_t>(i));
    const ValueId mean = b.reduce(b.expr("x * x", {{"x", x}}, wide), "mean", axes, true, wide);
    const ValueId w = c.has("weight") ? c.tensor("weight") : b.full({}, 1, wide);
    const double e = epsilon_or_smallest(c, wide == DType::c128 ? DType::f64 : DType::f32);
    return {b.expr("x * rsqrt(m + e) * w", {{"x", x}, {"m", mean}, {"e", e}, {"w", w}}, c.result_dtype())};
  }
  return {b.cast(rms_norm_node(b, c), c.result_dtype())};
}
Values fused_rms_norm(Builder& b, const Call& c) {
  const ValueId x = c.tensor("input");
  const DType wide = compute_type(b.dtype(x));
  std::vector<std::int64_t> axes;
  for (std::size_t i = 0; i < c.dims("normalized_shape").size(); ++i) axes.push_back(-1 - static_cast<std::int64_t>(i));
  const ValueId mean = b.reduce(b.expr("x * x", {{"x", x}}, wide), "mean", axes, true, wide);
  const ValueId rstd =
      b.expr("rsqrt(m + e)", {{"m", mean}, {"e", epsilon_or_smallest(c, b.dtype(x))}}, c.result_dtype(1));
  return {rms_norm_node(b, c), rstd};
}

Values group_norm_node(Builder& b, const Call& c, std::int64_t groups, DType statistics) {
  return b.add_all(
      Op::group_norm, {c.tensor("input"), c.tensor_or_none("weight"), c.tensor_or_none("bias")},
      {attr(AttrKey::groups, groups), attr_number(AttrKey::epsilon, c.number("eps")), attr_dtype(statistics)});
}
Values group_norm(Builder& b, const Call& c) {
  return {group_norm_node(b, c, c.integer("num_groups"), compute_type(b.dtype(c.tensor("input"))))[0]};
}
Values native_group_norm(Builder& b, const Call& c) {
  return group_norm_node(b, c, c.integer("group"), c.result_dtype(1));
}

ValueId nothing(Builder& b, DType t) {
  return b.full({0}, 0, t);
}

/// What a batch normalization gives: its result, what it normalised by, and the new running statistics.
struct BatchNorm {
  ValueId y = kNoValue, mean = kNoValue, rstd = kNoValue, new_mean = kNoValue, new_var = kNoValue;
};

ValueId apply_batch_norm(Builder& b, const Call& c, ValueId x, ValueId mean, ValueId var) {
  return b.add(Op::batch_norm, {x, mean, var, c.tensor_or_none("weight"), c.tensor_or_none("bias")},
               {attr_number(AttrKey::epsilon, c.number("eps"))});
}
BatchNorm batch_norm_eval(Builder& b, const Call& c) {
  const ValueId mean = c.tensor("running_mean"), var = c.tensor("running_var");
  BatchNorm r;
  r.y = apply_batch_norm(b, c, c.tensor("input"), mean, var);
  r.new_mean = mean;
  r.new_var = var;
  return r;
}

/// The axes that statistics are taken over.
std::vector<std::int64_t> all_but_channels(Builder& b, ValueId x) {
  std::vector<std::int64_t> axes = b.all_axes(x);
  axes.erase(axes.begin() + 1);
  return axes;
}

/// PyTorch's CPU kernels keep the mean and 1 / deviation of float16 and bfloat16 batches in that type, unless the
/// weight is wider, and for bfloat16 the sum of squared distances and the variance too.
void round_statistics(Builder& b, const Call& c, ValueId x, DType stored, const ExprArg& n, ValueId* var,
                      BatchNorm* r) {
  ValueId rounded = *var;
  if (stored == DType::bf16) {
    const ValueId distances = b.expr("v * n", {{"v", *var}, n}, stored);
    rounded = b.expr("d / n", {{"d", distances}, n}, stored);
    *var = b.expr("d / n", {{"d", distances}, n}, DType::f32);
  }
  const DType wide = compute_type(stored);
  r->mean = b.cast(r->mean, stored);
  r->rstd = b.expr("1 / sqrt(v + e)", {{"v", rounded}, {"e", c.number("eps")}}, stored);
  Dims per_channel(static_cast<std::size_t>(b.rank(x)), 1);
  per_channel[1] = b.size(x, 1);
  const auto spread = [&](std::string_view name, double otherwise) {
    return c.has(name) ? b.reshape(c.tensor(name), per_channel) : b.full({}, otherwise, wide);
  };
  r->y = b.expr("a = r * w; x * a + (s - m * a)",
                {{"x", x},
                 {"r", b.reshape(r->rstd, per_channel)},
                 {"m", b.reshape(r->mean, per_channel)},
                 {"w", spread("weight", 1)},
                 {"s", spread("bias", 0)}},
                b.dtype(x));
}

BatchNorm batch_norm_train(Builder& b, const Call& c) {
  const ValueId x = c.tensor("input");
  if (b.numel(x).is(0)) {  // of any rank, and nothing to learn from
    BatchNorm r;
    r.y = x;
    r.mean = r.rstd = nothing(b, compute_type(b.dtype(x)));
    r.new_mean = c.tensor_or_none("running_mean");
    r.new_var = c.tensor_or_none("running_var");
    return r;
  }
  const auto axes = all_but_channels(b, x);
  const DType wide = compute_type(b.dtype(x));
  const DType stored = c.has("weight") ? promote(b.dtype(x), b.dtype(c.tensor("weight"))) : b.dtype(x);
  const ExprArg n = size_arg(b, "n", count_along(b, x, axes));
  BatchNorm r;
  r.mean = b.reduce(x, "mean", axes, false, wide);
  ValueId var = variance(b, x, axes, 0, false, wide);
  if (stored != compute_type(stored)) {
    round_statistics(b, c, x, stored, n, &var, &r);
  } else {
    r.y = apply_batch_norm(b, c, x, r.mean, var);
    r.rstd = b.expr("rsqrt(v + e)", {{"v", var}, {"e", c.number("eps")}}, wide);
  }
  const double momentum = c.number("momentum");
  if (c.has("running_mean")) {
    const ValueId old = c.tensor("running_mean");
    r.new_mean = b.expr("m * n + (1 - m) * r", {{"r", old}, {"n", r.mean}, {"m", momentum}}, b.dtype(old));
  }
  if (c.has("running_var")) {
    const ValueId old = c.tensor("running_var");
    r.new_var =
        b.expr("m * (v * n / (n - 1)) + (1 - m) * r", {{"r", old}, {"v", var}, {"m", momentum}, n}, b.dtype(old));
  }
  return r;
}
BatchNorm batch_norm_of(Builder& b, const Call& c, bool train) {
  return train ? batch_norm_train(b, c) : batch_norm_eval(b, c);
}

Values batch_norm(Builder& b, const Call& c) {
  const ValueId x = c.tensor("input");
  if (b.numel(x).is(0)) return {x};
  return {batch_norm_of(b, c, c.flag("training") || !c.has("running_mean")).y};
}
/// y, the mean and 1 / deviation of a training batch (nothing in evaluation), the new running statistics.
Values with_statistics(Builder& b, const Call& c, bool train) {
  const BatchNorm r = batch_norm_of(b, c, train);
  if (!train) return {r.y, nothing(b, c.result_dtype(1)), nothing(b, c.result_dtype(2)), r.new_mean, r.new_var};
  return {r.y, b.cast(r.mean, c.result_dtype(1)), b.cast(r.rstd, c.result_dtype(2)), r.new_mean, r.new_var};
}
Values native_batch_norm(Builder& b, const Call& c) {
  Values r = with_statistics(b, c, c.flag("training"));
  r.resize(3);
  return r;
}
Values batch_norm_functional(Builder& b, const Call& c) {
  return with_statistics(b, c, c.flag("training"));
}
Values batch_norm_no_stats(Builder& b, const Call& c) {
  Values r = with_statistics(b, c, true);
  r.resize(3);
  return r;
}
Values batch_norm_no_training(Builder& b, const Call& c) {
  Values r = with_statistics(b, c, false);
  r.resize(3);
  return r;
}
Values batch_norm_with_update(Builder& b, const Call& c) {
  Values r = with_statistics(b, c, true);
  r.insert(r.begin() + 3, nothing(b, DType::u8));  // the workspace of other devices' kernels
  return r;
}
Values batch_norm_no_update(Builder& b, const Call& c) {
  Values r = with_statistics(b, c, false);
  r.resize(3);
  r.push_back(nothing(b, DType::u8));
  return r;
}

/// Each channel of each sample is normalised by itself: group_norm with a group per channel, or, where PyTorch rounds
/// the statistics, batch_norm of one sample with all those channels.
Values instance_norm(Builder& b, const Call& c) {
  const ValueId x = c.tensor("input");
  if (!c.flag("use_input_stats")) return {batch_norm_eval(b, c).y};
  const Dim channels = b.size(x, 1);
  if (b.dtype(x) == compute_type(b.dtype(x)) && channels.is_const()) {
    return {group_norm_node(b, c, channels.value(), b.dtype(x))[0]};
  }
  Dims shape = b.shape(x), flat = shape;
  const Dim samples = shape[0];
  flat[0] = 1;
  flat[1] = b.pool().mul(samples, channels);
  Call each = c;
  for (auto& [name, operand] : each.args) {
    if (name == "input") operand.value = b.reshape(x, flat);
    if ((name == "weight" || name == "bias") && operand.kind == Operand::Kind::tensor) {
      operand.value = b.reshape(b.expand(operand.value, {samples, channels}), {flat[1]});
    }
    if (name == "running_mean" || name == "running_var") operand.kind = Operand::Kind::none;
  }
  return {b.reshape(batch_norm_train(b, each).y, shape)};
}

/// With xhat = (x - mean) * rstd and g = grad * weight: rstd * (g - mean(g) - xhat * mean(g * xhat)).
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

/// The same over all axes but the channels' in training; in evaluation the statistics are constants.
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

/// The same over each group of channels.
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
    {"aten.softmax.int", softmax<false>},
    {"aten._softmax.default", softmax<false>},
    {"aten.special_softmax.default", softmax<false>},
    {"aten._safe_softmax.default", safe_softmax},
    {"aten.log_softmax.int", softmax<true>},
    {"aten._log_softmax.default", softmax<true>},
    {"aten.special_log_softmax.default", softmax<true>},
    {"aten._softmax_backward_data.default", softmax_backward},
    {"aten._log_softmax_backward_data.default", log_softmax_backward},
    {"aten.layer_norm.default", layer_norm},
    {"aten.native_layer_norm.default", native_layer_norm},
    {"aten.rms_norm.default", rms_norm},
    {"aten._fused_rms_norm.default", fused_rms_norm},
    {"aten.group_norm.default", group_norm},
    {"aten.native_group_norm.default", native_group_norm},
    {"aten.batch_norm.default", batch_norm},
    {"aten.native_batch_norm.default", native_batch_norm},
    {"aten._native_batch_norm_legit_functional.default", batch_norm_functional},
    {"aten._native_batch_norm_legit.default", batch_norm_functional},
    {"aten._native_batch_norm_legit.no_stats", batch_norm_no_stats},
    {"aten._native_batch_norm_legit_no_training.default", batch_norm_no_training},
    {"aten._batch_norm_with_update_functional.default", batch_norm_with_update},
    {"aten._batch_norm_with_update.default", batch_norm_with_update},
    {"aten._batch_norm_no_update.default", batch_norm_no_update},
    {"aten.instance_norm.default", instance_norm},
    {"aten.native_layer_norm_backward.default", layer_norm_backward},
    {"aten.native_batch_norm_backward.default", batch_norm_backward},
    {"aten.native_group_norm_backward.default", group_norm_backward},
};

}  // namespace

std::span<const Lowering> normalization_lowerings() {
  return kTable;
}

}  // namespace tern
