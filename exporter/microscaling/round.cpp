#include "exporter/microscaling/round.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <iterator>

#include "exporter/gradients/detach.h"

namespace tern::microscaling {
namespace {

/// Exponent of a block's scale from the bits `b` of its largest magnitude (float32): the rule's name in torchao and its
/// formula. `p` is the exponent of the element type's largest number; callers handle NaN.
struct ScaleRule {
  std::string_view name, code;
};
constexpr ScaleRule kScaleRules[] = {
    {"floor", "(b >> 23) - p"},
    {"ceil", "(b >> 23) + where((b & 8388607) > 0, 1, 0) - p"},
    // The magnitude is first rounded to the element type's digits.
    {"even", "((b + half) >> 23) - p"},
    // b holds the bits of magnitude / largest number: takes the smallest power of two not below.
    {"rceil", "b <= 4194304 ? 0 : min((b >> 23) + where((b & 8388607) > 0, 1, 0), 254)"},
};

/// The exponents, with bias 127, of the scales of x [.., blocks, block]: 255 for NaN.
ValueId scale_codes(Builder& b, ValueId x, const NarrowFloat& type, std::string_view rule) {
  const auto* at = std::ranges::find(kScaleRules, rule, &ScaleRule::name);
  if (at == std::end(kScaleRules)) fail(ErrorCode::unsupported, fmt::format("unknown rule '{}' for MX scales", rule));
  const bool divides = rule == "rceil";
  ValueId most = b.reduce(b.expr("abs(x)", {{"x", x}}, DType::f32), "max", {-1}, true, DType::f32);
  if (divides) most = b.expr("x / y", {{"x", most}, {"y", type.largest}}, DType::f32);
  const ValueId bits = b.add(Op::bitcast, {most}, {attr_dtype(DType::i32)});
  const std::string text = fmt::format("b = raw & 2147483647; b > 2139095040 ? 255 : max({}, 0)", at->code);
  return b.expr(text,
                {{"raw", bits},
                 {"p", static_cast<double>(type.most_exponent)},
                 {"half", static_cast<double>(1 << (22 - type.mantissa_bits))}},
                DType::i64, DType::i32);
}

}  // namespace

ValueId rounded(Builder& b, ValueId x, const NarrowFloat& type, std::int64_t block, std::string_view rule,
                DType result) {
  const Dims shape(b.shape(x));
  Dims blocks = shape;
  blocks.back() = b.pool().floordiv(shape.back(), block);
  blocks.emplace_back(block);
  const ValueId in_blocks = b.cast(b.reshape(x, blocks), DType::f32);
  const ValueId codes = scale_codes(b, in_blocks, type, rule);
  const ValueId bits = b.expr("c << 23", {{"c", codes}}, DType::i64, DType::i32);
  const ValueId power = b.add(Op::bitcast, {bits}, {attr_dtype(DType::f32)});  // 2^(code - 127), 0 for code 0
  // Blocks of zeros and of the smallest numbers have a divisor of their own.
  const bool divides = rule == "rceil";
  const ValueId scaled = b.expr(divides ? "where(s == 0, x, x / s)" : "x / max(s, 1.1754943508222875e-38)",
                                {{"x", in_blocks}, {"s", power}}, DType::f32);
  if (has_elements(type)) {
    // The form that devices with such products multiply.
    const ValueId elements = b.reshape(elements_of(b, scaled, type), shape);
    const ValueId packed = b.add(Op::mx_pack, {elements, b.cast(codes, DType::u8)}, {attr(AttrKey::block, Dim(block))});
    return b.add(Op::dequantize, {packed}, {attr_dtype(result)});
  }
  const ValueId elements = round_to(b, scaled, type);
  const ValueId y = b.expr("x * where(s == 0, 5.877471754111438e-39, where(isinf(s), nan, s))",
                           {{"x", elements}, {"s", power}}, DType::f32, result);
  return b.reshape(y, shape);
}

ValueId rounded_with_gradient(Builder& b, ValueId x, const NarrowFloat& type, std::int64_t block,
                              std::string_view rule) {
  return written_detached(b, x, rounded(b, x, type, block, rule, b.dtype(x)));
}

}  // namespace tern::microscaling
