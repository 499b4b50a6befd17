// Batch normalization: one node in evaluation; statistics, then updated running statistics in training.
#include "exporter/lower/normalization.h"

namespace tern {
namespace {

using Values = std::vector<ValueId>;

ValueId empty_tensor(Builder& b, DType t) {
  return b.full({0}, 0, t);
}

/// Results of a batch normalization: output, mean and reciprocal deviation, new running statistics.
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

/// Axes reduced by the statistics.
std::vector<std::int64_t> all_but_channels(Builder& b, ValueId x) {
  std::vector<std::int64_t> axes = b.all_axes(x);
  axes.erase(axes.begin() + 1);
  return axes;
}

/// PyTorch's CPU kernels store the mean and 1 / deviation of float16 and bfloat16 batches in the batch's type unless
/// the weight is wider; bfloat16 also rounds the sum of squared distances and the variance.
void round_statistics(Builder& b, const Call& c, ValueId x, DType statistics_dtype, const ExprArg& n, ValueId* var,
                      BatchNorm* r) {
  ValueId rounded = *var;
  if (statistics_dtype == DType::bf16) {
    const ValueId distances = b.expr("v * n", {{"v", *var}, n}, statistics_dtype);
    rounded = b.expr("d / n", {{"d", distances}, n}, statistics_dtype);
    *var = b.expr("d / n", {{"d", distances}, n}, DType::f32);
  }
  const DType compute_dtype = compute_type(statistics_dtype);
  r->mean = b.cast(r->mean, statistics_dtype);
  r->rstd = b.expr("1 / sqrt(v + e)", {{"v", rounded}, {"e", c.number("eps")}}, statistics_dtype);
  Dims per_channel(static_cast<std::size_t>(b.rank(x)), 1);
  per_channel[1] = b.size(x, 1);
  const auto spread = [&](ArgumentName name, double otherwise) {
    return c.has_argument(name) ? b.reshape(c.tensor(name), per_channel) : b.full({}, otherwise, compute_dtype);
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
  if (b.numel(x).is(0)) {  // no elements to learn from, any rank
    BatchNorm r;
    r.y = x;
    r.mean = r.rstd = empty_tensor(b, compute_type(b.dtype(x)));
    r.new_mean = c.tensor_or_none("running_mean");
    r.new_var = c.tensor_or_none("running_var");
    return r;
  }
  const auto axes = all_but_channels(b, x);
  const DType compute_dtype = compute_type(b.dtype(x));
  const DType statistics_dtype =
      c.has_argument("weight") ? promote(b.dtype(x), b.dtype(c.tensor("weight"))) : b.dtype(x);
  const ExprArg n = size_arg(b, "n", count_along(b, x, axes));
  BatchNorm r;
  r.mean = b.reduce(x, "mean", axes, false, compute_dtype);
  ValueId var = variance(b, x, axes, 0, false, compute_dtype);
  if (statistics_dtype != compute_type(statistics_dtype)) {
    round_statistics(b, c, x, statistics_dtype, n, &var, &r);
  } else {
    r.y = apply_batch_norm(b, c, x, r.mean, var);
    r.rstd = b.expr("rsqrt(v + e)", {{"v", var}, {"e", c.number("eps")}}, compute_dtype);
  }
  const double momentum = c.number("momentum");
  if (c.has_argument("running_mean")) {
    const ValueId running = c.tensor("running_mean");
    r.new_mean = b.expr("m * n + (1 - m) * r", {{"r", running}, {"n", r.mean}, {"m", momentum}}, b.dtype(running));
  }
  if (c.has_argument("running_var")) {
    const ValueId running = c.tensor("running_var");
    r.new_var = b.expr("m * (v * n / (n - 1)) + (1 - m) * r", {{"r", running}, {"v", var}, {"m", momentum}, n},
                       b.dtype(running));
  }
  return r;
}
BatchNorm batch_norm_of(Builder& b, const Call& c, bool train) {
  return train ? batch_norm_train(b, c) : batch_norm_eval(b, c);
}

Values batch_norm(Builder& b, const Call& c) {
  const ValueId x = c.tensor("input");
  if (b.numel(x).is(0)) return {x};
  return {batch_norm_of(b, c, c.flag("training") || !c.has_argument("running_mean")).y};
}
/// Returns y, the mean and 1 / deviation of a training batch (none in evaluation), and the new running statistics.
Values normalize_batch(Builder& b, const Call& c, bool train) {
  const BatchNorm r = batch_norm_of(b, c, train);
  if (!train)
    return {r.y, empty_tensor(b, c.result_dtype(1)), empty_tensor(b, c.result_dtype(2)), r.new_mean, r.new_var};
  return {r.y, b.cast(r.mean, c.result_dtype(1)), b.cast(r.rstd, c.result_dtype(2)), r.new_mean, r.new_var};
}
Values native_batch_norm(Builder& b, const Call& c) {
  Values r = normalize_batch(b, c, c.flag("training"));
  r.resize(3);
  return r;
}
Values batch_norm_functional(Builder& b, const Call& c) {
  return normalize_batch(b, c, c.flag("training"));
}
Values batch_norm_no_stats(Builder& b, const Call& c) {
  Values r = normalize_batch(b, c, true);
  r.resize(3);
  return r;
}
Values batch_norm_no_training(Builder& b, const Call& c) {
  Values r = normalize_batch(b, c, false);
  r.resize(3);
  return r;
}
Values batch_norm_with_update(Builder& b, const Call& c) {
  Values r = normalize_batch(b, c, true);
  r.insert(r.begin() + 3, empty_tensor(b, DType::u8));  // the workspace of other devices' kernels
  return r;
}
Values batch_norm_no_update(Builder& b, const Call& c) {
  Values r = normalize_batch(b, c, false);
  r.resize(3);
  r.push_back(empty_tensor(b, DType::u8));
  return r;
}

/// Normalizes each channel of each sample alone. The node is group_norm with a group per channel; or, if PyTorch rounds
/// the statistics or running statistics are learned, batch_norm of one sample with all the samples' channels. The new
/// running statistics, averaged over the samples, follow the result.
Values instance_norm(Builder& b, const Call& c) {
  const ValueId x = c.tensor("input");
  if (!c.flag("use_input_stats")) return {batch_norm_eval(b, c).y};
  const Dim channels = b.size(x, 1);
  const bool learns = c.has_argument("running_mean") || c.has_argument("running_var");
  if (!learns && b.dtype(x) == compute_type(b.dtype(x)) && channels.is_const()) {
    return {group_norm_node(b, c, channels.value(), b.dtype(x))[0]};
  }
  Dims shape = b.shape(x), flat = shape;
  const Dim samples = shape[0];
  flat[0] = 1;
  flat[1] = b.pool().mul(samples, channels);
  Call batch_call = c;
  for (auto& [name, operand] : batch_call.args) {
    if (name == "input") operand.value = b.reshape(x, flat);
    const bool per_channel = name == "weight" || name == "bias" || name == "running_mean" || name == "running_var";
    if (per_channel && operand.kind == CallArgument::Kind::tensor) {
      operand.value = b.reshape(b.expand(operand.value, {samples, channels}), {flat[1]});
    }
  }
  const BatchNorm r = batch_norm_train(b, batch_call);
  const auto averaged = [&](ValueId v) {
    return v == kNoValue ? v : b.reduce(b.reshape(v, {samples, channels}), "mean", {0}, false, b.dtype(v));
  };
  return {b.reshape(r.y, shape), averaged(r.new_mean), averaged(r.new_var)};
}

constexpr Lowering kBatchNormLowerings[] = {
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
};

}  // namespace

std::span<const Lowering> batch_norm_lowerings() {
  return kBatchNormLowerings;
}

}  // namespace tern
