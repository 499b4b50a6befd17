// quantized_decomposed.choose_qparams: scales and zero points of run-time values.
#include "exporter/lower/quantization.h"

namespace tern {
namespace {

using Values = std::vector<ValueId>;

/// Range of x, widened to include 0, as operands of one expression.
struct Extremes {
  ValueId low, high;
};
Extremes extremes(Builder& b, ValueId x, const std::vector<std::int64_t>& axes) {
  const DType t = b.dtype(x);
  return {b.reduce(x, "min", axes, !axes.empty(), t), b.reduce(x, "max", axes, !axes.empty(), t)};
}

/// Returns lists of one element: scales in float64, zero points in int64.
Values as_lists(Builder& b, ValueId scale, ValueId zero_point) {
  return {b.reshape(scale, {1}), b.reshape(zero_point, {1})};
}

/// Computes the range in the input's dtype, the comparison with eps and all later steps in float32.
Values choose_affine(Builder& b, const Call& c) {
  const Extremes e = extremes(b, c.tensor("input"), {});
  const double lower = c.number("quant_min"), upper = c.number("quant_max");
  Steps s(b);
  const Term low = s.clamp_min_zero(s.negated(s.tensor("low", e.low))),
             high = s.clamp_min_zero(s.tensor("high", e.high));
  const Term span = s.apply(s.apply(high, "+", low), "/", s.number(upper - lower));
  const ValueId scale = s.finish(s.clamp_min(s.cast(span, DType::f32), c.number("eps")), DType::f64);
  const ValueId zero_point =
      b.expr("min(max(least - round(min(low, 0) / scale), least), most)",
             {{"low", e.low}, {"scale", scale}, {"least", lower}, {"most", upper}}, DType::f32, DType::i64);
  return as_lists(b, scale, zero_point);
}

Values choose_symmetric(Builder& b, const Call& c) {
  const Extremes e = extremes(b, c.tensor("input"), {});
  Steps s(b);
  const Term low = s.negated(s.tensor("low", e.low)), high = s.tensor("high", e.high);
  const Term upper = s.clamp_min_zero(s.larger(low, high));
  const Term step = s.apply(upper, "/", s.number((c.number("quant_max") - c.number("quant_min")) / 2));
  const ValueId scale = s.finish(s.clamp_min(s.cast(step, DType::f32), c.number("eps")), DType::f64);
  return {b.reshape(scale, {1}), b.full({1}, c.dtype_or("dtype", DType::i8) == DType::u8 ? 128 : 0, DType::i64)};
}

/// Largest magnitude of each row over 127. The kernel returns both results in the input's dtype (float32 for float16);
/// the shape function states float64 and int64.
Values choose_per_token(Builder& b, const Call& c) {
  const ValueId x = c.tensor("input");
  if (c.dtype_or("dtype", DType::i8) != DType::i8) c.unsupported("the dtype must be int8");
  const DType t = b.dtype(x), result = t == DType::f16 ? DType::f32 : t;
  const ValueId magnitude = b.reduce(b.expr("abs(x)", {{"x", x}}, t), "max", {-1}, true, t);
  Steps s(b);
  const Term scale = s.apply(s.clamp_min(s.cast(s.tensor("x", magnitude), result), 1e-5), "/", s.number(127));
  return {s.finish(scale), b.full(b.shape(magnitude), 0, result)};
}

/// The zero point follows the end of the range with the smaller error.
Values choose_per_token_asymmetric(Builder& b, const Call& c) {
  const Extremes e = extremes(b, c.tensor("input"), {-1});
  constexpr double kMinCode = -128, kMaxCode = 127, kEps = 0x1p-23;
  Steps s(b);
  const Term low = s.clamp_max_zero(s.tensor("low", e.low)), high = s.clamp_min_zero(s.tensor("high", e.high));
  const Term span = s.apply(s.apply(high, "-", low), "/", s.number(kMaxCode - kMinCode));
  const ValueId scale = s.finish(s.clamp_min(span, kEps));
  Steps z(b);
  const Term step = z.tensor("scale", scale);
  const Term scaled_low = z.apply(z.clamp_max_zero(z.tensor("low", e.low)), "/", step),
             scaled_high = z.apply(z.clamp_min_zero(z.tensor("high", e.high)), "/", step);
  const Term error =
      z.apply(z.apply(z.number(kMinCode), "+", scaled_low), "+", z.apply(z.number(kMaxCode), "+", scaled_high));
  const Term from_low = z.apply(z.number(kMinCode), "-", scaled_low),
             from_high = z.apply(z.number(kMaxCode), "-", scaled_high);
  const Term chosen = {error.text + " > 0 ? " + from_low.text + " : " + from_high.text, error.dtype};
  const ValueId zero_point = z.finish(z.round(z.clamp(chosen, kMinCode, kMaxCode)), DType::i64);
  return {b.cast(scale, DType::f64), zero_point};
}

constexpr Lowering kDecomposedParametersLowerings[] = {
    {"quantized_decomposed.choose_qparams.tensor", choose_affine},
    {"quantized_decomposed.choose_qparams_symmetric.tensor", choose_symmetric},
    {"quantized_decomposed.choose_qparams_per_token.default", choose_per_token},
    {"quantized_decomposed.choose_qparams_per_token_asymmetric.default", choose_per_token_asymmetric},
    {"quantized_decomposed._choose_qparams_per_token_asymmetric_impl.default", choose_per_token_asymmetric},
};

}  // namespace

std::span<const Lowering> decomposed_parameter_lowerings() {
  return kDecomposedParametersLowerings;
}

}  // namespace tern
