// Fake quantization: numbers rounded to the grid of a quantized dtype, and back.
#include <string>

#include "exporter/gradients/detach.h"
#include "exporter/lower/pointwise.h"
#include "exporter/lower/quantization.h"

namespace tern {

namespace {

FakeQuantized rounded_to_grid(Builder& b, ValueId x, const ExprArg& scale, const ExprArg& zero_point, double lower,
                              double upper) {
  // Integer zero points are added after rounding, float zero points before. The number is then float64: visible with
  // float zero points alone.
  const bool floating = zero_point.value != kNoValue && is_floating(b.dtype(zero_point.value));
  const std::string q = floating ? "q = float32(round(zero_point + x * reciprocal(scale))); "
                                 : "q = zero_point + round(x * reciprocal(scale)); ";
  const std::string dequantized = "(min(max(q, least), most) - zero_point) * scale";
  const std::vector<ExprArg> args = {{"x", x}, scale, zero_point, {"least", lower}, {"most", upper}};
  const DType t = b.dtype(x);
  return {b.expr(q + (floating ? "float64(" + dequantized + ")" : dequantized), args, t),
          b.expr(q + "q >= least && q <= most", args, compute_type(t), DType::boolean)};
}

}  // namespace

FakeQuantized fake_quantized(Builder& b, ValueId x, const ExprArg& scale, const ExprArg& zero_point, double lower,
                             double upper) {
  const FakeQuantized f = rounded_to_grid(b, x, scale, zero_point, lower, upper);
  const ValueId passes = b.expr("mask ? x : 0", {{"mask", f.mask}, {"x", x}}, b.dtype(x));
  return {written_detached(b, passes, f.value), f.mask};
}

namespace {

FakeQuantized fake_quantize_self(Builder& b, const Call& c, const ExprArg& scale, const ExprArg& zero_point) {
  return fake_quantized(b, c.tensor("self"), scale, zero_point, c.number("quant_min"), c.number("quant_max"));
}

FakeQuantized fake_quantize_per_tensor(Builder& b, const Call& c) {
  const auto parameter = [&](std::string_view name) {
    ExprArg a = expr_arg(b, c, name);
    if (a.value != kNoValue) a.value = b.reshape(a.value, {});
    return a;
  };
  return fake_quantize_self(b, c, parameter("scale"), parameter("zero_point"));
}

FakeQuantized fake_quantize_per_channel(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  const std::int64_t axis = c.integer("axis");
  return fake_quantize_self(b, c, {"scale", per_channel(b, c.tensor("scale"), x, axis)},
                            {"zero_point", per_channel(b, c.tensor("zero_point"), x, axis)});
}

Values tensor(Builder& b, const Call& c) {
  return {fake_quantize_per_tensor(b, c).value};
}
Values channel(Builder& b, const Call& c) {
  return {fake_quantize_per_channel(b, c).value};
}
Values tensor_and_mask(Builder& b, const Call& c) {
  const FakeQuantized f = fake_quantize_per_tensor(b, c);
  return {f.value, f.mask};
}
Values channel_and_mask(Builder& b, const Call& c) {
  const FakeQuantized f = fake_quantize_per_channel(b, c);
  return {f.value, f.mask};
}

/// A tensor switches the quantization on or off.
Values tensor_and_mask_switched(Builder& b, const Call& c) {
  const FakeQuantized f = fake_quantize_per_tensor(b, c);
  const ValueId is_enabled = b.reshape(c.tensor("fake_quant_enabled"), {}), x = c.tensor("self");
  return {b.expr("on ? y : x", {{"on", is_enabled}, {"y", f.value}, {"x", x}}, b.dtype(x)),
          b.expr("!on || mask", {{"on", is_enabled}, {"mask", f.mask}}, DType::boolean)};
}

/// Trained zero points are floats; each counts as the nearest integer in range.
ValueId trained_zero_point(Builder& b, const Call& c) {
  return b.expr("min(max(round(z), least), most)",
                {{"z", c.tensor("zero_point")}, {"least", c.number("quant_min")}, {"most", c.number("quant_max")}},
                DType::f32, DType::i32);
}
/// Trained scales receive a gradient as well, unlike the scales of the other forms.
ValueId trained(Builder& b, const Call& c, const ExprArg& scale, const ExprArg& zero_point) {
  return rounded_to_grid(b, c.tensor("self"), scale, zero_point, c.number("quant_min"), c.number("quant_max")).value;
}
Values trained_tensor(Builder& b, const Call& c) {
  const ValueId zero_point = b.reshape(trained_zero_point(b, c), {}), scale = b.reshape(c.tensor("scale"), {});
  return {trained(b, c, {"scale", scale}, {"zero_point", zero_point})};
}
Values trained_channel(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  const std::int64_t axis = c.integer("axis");
  return {trained(b, c, {"scale", per_channel(b, c.tensor("scale"), x, axis)},
                  {"zero_point", per_channel(b, trained_zero_point(b, c), x, axis)})};
}

constexpr Lowering kFakeQuantizeLowerings[] = {
    {"aten.fake_quantize_per_tensor_affine.default", tensor},
    {"aten.fake_quantize_per_tensor_affine.tensor_qparams", tensor},
    {"aten.fake_quantize_per_tensor_affine_cachemask.default", tensor_and_mask},
    {"aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams.default", tensor_and_mask_switched},
    {"aten._fake_quantize_learnable_per_tensor_affine.default", trained_tensor},
    {"aten.fake_quantize_per_channel_affine.default", channel},
    {"aten.fake_quantize_per_channel_affine_cachemask.default", channel_and_mask},
    {"aten._fake_quantize_learnable_per_channel_affine.default", trained_channel},
};

}  // namespace

std::span<const Lowering> fake_quantize_lowerings() {
  return kFakeQuantizeLowerings;
}

}  // namespace tern
