// Gradients of softmax and the normalizations, as joint graphs hold them: by the rules of exporter/gradients/.
#include "exporter/gradients/apply_rule.h"
#include "exporter/gradients/differentiate.h"
#include "exporter/gradients/normalizations.h"
#include "exporter/lower/gradients.h"

namespace tern {
namespace {

using Values = std::vector<ValueId>;

template <bool kLog>
Values softmax_backward(Builder& b, const Call& c) {
  const ValueId y = c.tensor("output");
  Node n;
  n.op = Op::softmax;
  n.inputs = {b.full(b.shape(y), 0, c.result_dtype())};
  n.outputs = {y};
  n.attrs = {attr(AttrKey::axis, b.normal_axis(y, c.integer("dim"))), attr(AttrKey::log, Dim(kLog ? 1 : 0))};
  return apply_gradient_rule(b, n, {c.tensor("grad_output")});
}

/// The output mask, with the input: tracing gives the gradient of the input a value even if the mask leaves it out.
std::vector<bool> wanted_operands(const Call& c) {
  std::vector<bool> requested;
  for (const Dim d : c.dims("output_mask")) requested.push_back(d.is(1));
  requested.at(0) = true;
  return requested;
}

/// The weight of the call, or ones if the gradient of an absent weight is asked for.
ValueId weight_or_ones(Builder& b, const Call& c, bool requested, const Dims& sizes) {
  return c.has_argument("weight") || !requested ? c.tensor_or_none("weight")
                                                : b.full(sizes, 1, b.dtype(c.tensor("input")));
}

/// The normalization of the call's input with its statistics. The rules do not read the bias.
Values normalization_backward(Builder& b, const Call& c, Op op, Attr attribute, const Dims& sizes) {
  const ValueId x = c.tensor("input");
  const std::vector<bool> mask = wanted_operands(c);
  Node n;
  n.op = op;
  n.inputs = {x, weight_or_ones(b, c, mask.at(1), sizes), mask.at(2) ? b.full(sizes, 0, b.dtype(x)) : kNoValue};
  n.outputs = {kNoValue, c.tensor("mean"), c.tensor("rstd")};
  n.attrs = {std::move(attribute)};
  return apply_gradient_rule(b, n, {c.tensor("grad_out")}, mask);
}

Values layer_norm_backward(Builder& b, const Call& c) {
  const Dims sizes = c.dims("normalized_shape");
  return normalization_backward(b, c, Op::layer_norm, attr(AttrKey::k, Dim(std::ssize(sizes))), sizes);
}

Values group_norm_backward(Builder& b, const Call& c) {
  return normalization_backward(b, c, Op::group_norm, attr(AttrKey::groups, Dim(c.integer("group"))),
                                {b.size(c.tensor("input"), 1)});
}

/// Training normalizes over all axes but the channels'. The op batch_norm is that of evaluation, whose statistics are
/// operands.
Values batch_norm_backward(Builder& b, const Call& c) {
  const ValueId x = c.tensor("input"), grad = c.tensor("grad_out");
  const std::vector<bool> mask = wanted_operands(c);
  const Dims channels = {b.size(x, 1)};
  const ValueId weight = weight_or_ones(b, c, mask.at(1), channels);
  const DType parameter = c.has_argument("weight") ? b.dtype(weight) : b.dtype(x);
  if (!c.flag("train")) {
    Node n;
    n.op = Op::batch_norm;
    n.inputs = {x, c.tensor("running_mean"), c.tensor("running_var"), weight,
                mask.at(2) ? b.full(channels, 0, parameter) : kNoValue};
    n.attrs = {attr_number(AttrKey::epsilon, c.number("eps"))};
    const Values r = apply_gradient_rule(b, n, {grad}, {mask.at(0), false, false, mask.at(1), mask.at(2)});
    return {r[0], r[3], r[4]};
  }
  Dims per_channel(static_cast<std::size_t>(b.rank(x)), 1);
  per_channel[1] = channels[0];
  const auto spread = [&](ValueId v) { return v == kNoValue ? v : b.reshape(v, per_channel); };
  std::vector<std::int64_t> axes = b.all_axes(x);
  axes.erase(axes.begin() + 1);
  const NormalizedGradients g = normalized_gradients(
      b, {x, spread(c.tensor("save_mean")), spread(c.tensor("save_invstd")), spread(weight), axes}, grad);
  const auto summed = [&](bool requested, ValueId v) {
    return requested ? b.reduce(v, "sum", axes, false, parameter) : kNoValue;
  };
  return {gradient_like(b, g.x, x), summed(mask.at(1), g.weight), summed(mask.at(2), g.bias)};
}

constexpr Lowering kNormGradientsLowerings[] = {
    {"aten._softmax_backward_data.default", softmax_backward<false>},
    {"aten._log_softmax_backward_data.default", softmax_backward<true>},
    {"aten.native_layer_norm_backward.default", layer_norm_backward},
    {"aten.native_batch_norm_backward.default", batch_norm_backward},
    {"aten.native_group_norm_backward.default", group_norm_backward},
};

}  // namespace

std::span<const Lowering> norm_gradient_lowerings() {
  return kNormGradientsLowerings;
}

}  // namespace tern
