// quantized_decomposed of PT2E programs: numbers to a quantized dtype and back.
#include <fmt/format.h>

#include "exporter/lower/pointwise.h"
#include "exporter/lower/quantization.h"

namespace tern {
namespace {

/// round(x * (1 / scale)) + zero_point; `offset_first` adds the zero point before rounding.
Term round_to_grid(Steps& s, const Term& x, const Term& scale, const Term& zero_point, bool offset_first) {
  const Term steps = s.apply(x, "*", s.apply(s.number(1), "/", scale));
  return offset_first ? s.round(s.apply(steps, "+", zero_point)) : s.apply(s.round(steps), "+", zero_point);
}

ValueId quantized(const Call& c, Steps& s, const Term& x) {
  return s.finish(s.clamp(x, c.number("quant_min"), c.number("quant_max")), c.result_dtype());
}

/// PyTorch treats a tensor's single element as a Python number, without a dtype of its own. The result broadcasts to x.
ValueId element(Builder& b, ValueId v, ValueId x) {
  return b.rank(v) <= b.rank(x) ? v : b.reshape(v, {});
}

/// float16 and bfloat16 are widened to float32 first.
Term widened(Steps& s, ValueId x) {
  return s.cast(s.tensor("input", x), DType::f32);
}

Values quantize_per_tensor(Builder& b, const Call& c) {
  Steps s(b);
  const Term scale = s.number(1.0 / c.number("scale"));
  const Term steps = s.round(s.apply(widened(s, c.tensor("input")), "*", scale));
  return {quantized(c, s, s.apply(steps, "+", s.number(c.number("zero_point"))))};
}

/// The reciprocal is a number of Python: computed in float64, rounded to float32. Bounds may be tensors, too.
Values quantize_per_tensor_by_tensors(Builder& b, const Call& c) {
  const ValueId x = c.tensor("input"), scale = element(b, c.tensor("scale"), x),
                zero_point = element(b, c.tensor("zero_point"), x);
  std::string_view text = "min(max(round(x * inverse) + zero_point, quant_min), quant_max)";
  std::vector<ExprArg> args = {{"x", x}, {"zero_point", zero_point}};
  for (const char* name : {"quant_min", "quant_max"}) {
    ExprArg bound = expr_arg(b, c, name);
    if (bound.value != kNoValue) bound.value = element(b, bound.value, x);
    args.push_back(bound);
  }
  if (b.dtype(scale) == DType::f64) {
    const ValueId inverse = b.expr("1 / scale", {{"scale", scale}}, DType::f64, DType::f32);
    args.emplace_back("inverse", inverse);
  } else {  // a float32 quotient equals the rounded float64 quotient
    text = "min(max(round(x * (1 / scale)) + zero_point, quant_min), quant_max)";
    args.emplace_back("scale", scale);
  }
  return {b.expr(text, args, DType::f32, c.result_dtype())};
}

Values dequantize_per_tensor(Builder& b, const Call& c) {
  const DType output_dtype = c.dtype_or("out_dtype", DType::f32);
  Steps s(b);
  const auto parameter = [&](std::string_view name) {
    const ArgumentName argument = ArgumentName::from_text(name);
    if (!c.is_tensor(argument)) return s.number(c.number(argument));
    const Term t = s.tensor(name, element(b, c.tensor(argument), c.tensor("input")));
    return Term{t.text, DType::invalid};
  };
  const Term x = s.cast(s.tensor("input", c.tensor("input")), output_dtype);
  const Term zero_point = parameter("zero_point");
  return {s.finish(s.apply(s.apply(x, "-", zero_point), "*", parameter("scale")), output_dtype)};
}

Values quantize_per_channel(Builder& b, const Call& c) {
  const ValueId x = c.tensor("input");
  const std::int64_t axis = c.integer("axis");
  Steps s(b);
  const Term input = widened(s, x), scale = s.tensor("scales", per_channel(b, c.tensor("scales"), x, axis)),
             zero_point = s.tensor("zero_points", per_channel(b, c.tensor("zero_points"), x, axis));
  return {quantized(c, s, round_to_grid(s, input, scale, zero_point, false))};
}

/// (x - zero_point) * scale. Integers subtract as integers. Narrow differences without wrapping are exact in float32
/// too, and vectors hold more float32 elements.
Term from_grid(Steps& s, Term x, std::optional<Term> zero_point, const Term& scale) {
  if (zero_point) {
    const bool wraps = element_size(promote(x.dtype, zero_point->dtype)) < 4;
    const bool wide_scale = scale.dtype == DType::f32 || scale.dtype == DType::f64;
    if (is_integral(x.dtype) && element_size(x.dtype) <= 2 && !wraps && wide_scale) x = s.cast(x, scale.dtype);
    x = s.apply(x, "-", *zero_point);
  }
  return s.apply(x, "*", scale);
}

Values dequantize_per_channel(Builder& b, const Call& c) {
  const ValueId x = c.tensor("input"), zero_points = c.tensor_or_none("zero_points");
  const std::int64_t axis = c.integer("axis");
  Steps s(b);
  const Term input = s.tensor("input", x), scale = s.tensor("scales", per_channel(b, c.tensor("scales"), x, axis));
  std::optional<Term> zero_point;
  if (zero_points != kNoValue) zero_point = s.tensor("zero_points", per_channel(b, zero_points, x, axis));
  return {s.finish(from_grid(s, input, zero_point, scale), c.dtype_or("out_dtype", DType::f32))};
}

Values quantize_per_token(Builder& b, const Call& c) {
  Steps s(b);
  const Term x = s.tensor("input", c.tensor("input")), scale = s.tensor("scales", c.tensor("scales"));
  return {quantized(c, s, round_to_grid(s, x, scale, s.tensor("zero_points", c.tensor("zero_points")), true))};
}

Values dequantize_per_token(Builder& b, const Call& c) {
  Steps s(b);
  const Term x = s.tensor("input", c.tensor("input")), scale = s.tensor("scales", c.tensor("scales"));
  return {s.finish(from_grid(s, x, s.tensor("zero_points", c.tensor("zero_points")), scale),
                   c.dtype_or("output_dtype", DType::f32))};
}

/// Groups along the last axis; a longer group is clamped to the axis.
BlockAxes groups(Builder& b, const Call& c, ValueId x, Dim size) {
  if (b.rank(x) != 2) c.unsupported("groups need a matrix");
  const Dim width = b.size(x, 1);
  if (size.is_const() && width.is_const() && size.value() > width.value()) size = width;
  return blocks_of(b, c, x, {1, size});
}

Values quantize_groups(Builder& b, const Call& c) {
  const ValueId x = c.tensor("input");
  const BlockAxes g = groups(b, c, x, c.dim("group_size"));
  Steps s(b);
  const Term input = s.tensor("input", b.reshape(x, g.split)),
             scale = s.tensor("scales", per_block(b, c.tensor("scales"), g)),
             zero_point = s.tensor("zero_points", per_block(b, c.tensor("zero_points"), g));
  return {b.reshape(quantized(c, s, round_to_grid(s, input, scale, zero_point, true)), b.shape(x))};
}

Values dequantize_groups(Builder& b, const Call& c) {
  return {dequantized_groups(b, c, c.tensor("input"), c.tensor("scales"), c.tensor_or_none("zero_points"),
                             c.dim("group_size"), c.dtype_or("output_dtype", DType::f32))};
}

/// Quantizes and dequantizes, in float32.
Values fake_quantize_channels(Builder& b, const Call& c) {
  const ValueId x = c.tensor("input");
  const auto parameter = [&](ArgumentName name, DType t) {
    return per_channel(b, b.cast(c.tensor(name), t), x, c.integer("axis"));
  };
  return {b.expr("(min(max(round(x * (1 / scale)) + zero, least), most) - zero) * scale",
                 {{"x", x},
                  {"scale", parameter("scales", DType::f32)},
                  {"zero", parameter("zero_points", DType::i32)},
                  {"least", c.number("quant_min")},
                  {"most", c.number("quant_max")}},
                 DType::f32, c.result_dtype())};
}

Values convert_element_type(Builder& b, const Call& c) {
  return {convert_to(b, c, c.tensor("input"), c.result_dtype())};
}

constexpr Lowering kQuantizedDecomposedLowerings[] = {
    {"quantized_decomposed.quantize_per_tensor.default", quantize_per_tensor},
    {"quantized_decomposed.quantize_per_tensor.tensor", quantize_per_tensor_by_tensors},
    {"quantized_decomposed.quantize_per_tensor.tensor2", quantize_per_tensor_by_tensors},
    {"quantized_decomposed.dequantize_per_tensor.default", dequantize_per_tensor},
    {"quantized_decomposed.dequantize_per_tensor.tensor", dequantize_per_tensor},
    {"quantized_decomposed.dequantize_per_tensor.tensor2", dequantize_per_tensor},
    {"quantized_decomposed.quantize_per_channel.default", quantize_per_channel},
    {"quantized_decomposed.dequantize_per_channel.default", dequantize_per_channel},
    {"quantized_decomposed.quantize_per_token.default", quantize_per_token},
    {"quantized_decomposed.dequantize_per_token.default", dequantize_per_token},
    {"quantized_decomposed.quantize_per_channel_group.default", quantize_groups},
    {"quantized_decomposed.dequantize_per_channel_group.default", dequantize_groups},
    {"quantized_decomposed.fake_quant_per_channel.default", fake_quantize_channels},
    {"quantized_decomposed.convert_element_type.no_fuse", convert_element_type},
};

}  // namespace

ValueId dequantized_groups(Builder& b, const Call& c, ValueId x, ValueId scales, ValueId zero_points, Dim group,
                           DType result) {
  const BlockAxes g = groups(b, c, x, group);
  Steps s(b);
  const Term input = s.tensor("input", b.reshape(x, g.split)), scale = s.tensor("scales", per_block(b, scales, g));
  std::optional<Term> zero_point;
  if (zero_points != kNoValue) zero_point = s.tensor("zero_points", per_block(b, zero_points, g));
  return b.reshape(s.finish(from_grid(s, input, zero_point, scale), result), b.shape(x));
}

std::span<const Lowering> decomposed_lowerings() {
  return kQuantizedDecomposedLowerings;
}

}  // namespace tern
