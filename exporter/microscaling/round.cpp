#include "exporter/microscaling/round.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <iterator>

#include "exporter/gradients/detach.h"

namespace tern::microscaling {
namespace {

/// The rule's name in torchao, and the formula of a scale's biased exponent: `b` is the bit pattern (float32) of the
/// block's largest magnitude, `p` the exponent of the element type's largest number, `half` half a unit in the last
/// place of its mantissa, 8388607 the mask of float32's mantissa. Callers handle NaN.
struct ScaleRule {
  std::string_view name, exponent;
};
constexpr ScaleRule kScaleRules[] = {
    {"floor", "(b >> 23) - p"},
    {"ceil", "(b >> 23) + where((b & 8388607) > 0, 1, 0) - p"},
    // The magnitude is first rounded to the element type's digits.
    {"even", "((b + half) >> 23) - p"},
    // b is the bit pattern of (largest magnitude / largest number): the formula rounds it up to a power of two.
    {"rceil", "b <= 4194304 ? 0 : min((b >> 23) + where((b & 8388607) > 0, 1, 0), 254)"},
};

/// Biased exponents (bias 127) of the scales of x [.., blocks, block]; 255 for NaN. The formula compares bits with
/// infinity's, 2139095040.
ValueId scale_codes(Builder& b, ValueId x, const NarrowFloat& type, std::string_view rule) {
  const auto* found = std::ranges::find(kScaleRules, rule, &ScaleRule::name);
  if (found == std::end(kScaleRules))
    fail(ErrorCode::unsupported, fmt::format("unknown rule '{}' for MX scales", rule));
  const bool divides_by_scale = rule == "rceil";
  ValueId max_magnitude = b.reduce(b.expr("abs(x)", {{"x", x}}, DType::f32), "max", {-1}, true, DType::f32);
  if (divides_by_scale) max_magnitude = b.expr("x / y", {{"x", max_magnitude}, {"y", type.largest}}, DType::f32);
  const ValueId bits = b.add(Op::bitcast, {max_magnitude}, {attr_dtype(DType::i32)});
  const std::string formula = fmt::format("b = raw & 2147483647; b > 2139095040 ? 255 : max({}, 0)", found->exponent);
  return b.expr(formula,
                {{"raw", bits},
                 {"p", static_cast<double>(type.most_exponent)},
                 {"half", static_cast<double>(1 << (22 - type.mantissa_bits))}},
                DType::i64, DType::i32);
}

}  // namespace

ValueId round_to_mx(Builder& b, ValueId x, const NarrowFloat& type, std::int64_t block, std::string_view rule,
                    DType result) {
  const Dims shape(b.shape(x));
  Dims blocks = shape;
  blocks.back() = b.pool().floordiv(shape.back(), block);
  blocks.emplace_back(block);
  const ValueId x_blocks = b.cast(b.reshape(x, blocks), DType::f32);
  const ValueId codes = scale_codes(b, x_blocks, type, rule);
  const ValueId bits = b.expr("c << 23", {{"c", codes}}, DType::i64, DType::i32);
  const ValueId scale = b.add(Op::bitcast, {bits}, {attr_dtype(DType::f32)});  // 2^(code - 127), 0 for code 0
  // Scales of code 0 are zero in `scale`: each rule has its own divisor for such blocks.
  const bool divides_by_scale = rule == "rceil";
  const ValueId scaled = b.expr(divides_by_scale ? "where(s == 0, x, x / s)" : "x / max(s, 1.1754943508222875e-38)",
                                {{"x", x_blocks}, {"s", scale}}, DType::f32);
  if (has_elements(type)) {
    // Devices with block-scaled matrix products multiply the packed form.
    const ValueId elements = b.reshape(elements_of(b, scaled, type), shape);
    const ValueId packed = b.add(Op::mx_pack, {elements, b.cast(codes, DType::u8)}, {attr(AttrKey::block, Dim(block))});
    return b.add(Op::dequantize, {packed}, {attr_dtype(result)});
  }
  const ValueId elements = round_to(b, scaled, type);
  const ValueId y = b.expr("x * where(s == 0, 5.877471754111438e-39, where(isinf(s), nan, s))",
                           {{"x", elements}, {"s", scale}}, DType::f32, result);
  return b.reshape(y, shape);
}

ValueId round_to_mx_with_gradient(Builder& b, ValueId x, const NarrowFloat& type, std::int64_t block,
                                  std::string_view rule) {
  return written_detached(b, x, round_to_mx(b, x, type, block, rule, b.dtype(x)));
}

}  // namespace tern::microscaling
