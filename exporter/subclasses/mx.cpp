// torchao's MXTensor: elements in blocks that share a power of two (torchao/prototype/mx_formats/mx_tensor.py).
#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>

#include "exporter/subclasses/families.h"
#include "exporter/subclasses/narrow_floats.h"

namespace tern::subclasses {
namespace {

const NarrowFloat& element_type(const pt2::PickledAttribute& a) {
  const NarrowFloat* type = find_narrow_float(a.text);
  if (type == nullptr) fail(ErrorCode::unsupported, fmt::format("MX elements of '{}' are not known", a.text));
  return *type;
}

const pt2::PickledAttribute& field(const pt2::PickledAttribute& record, std::string_view name) {
  const pt2::PickledAttribute* f = record.find(name);
  if (f == nullptr) fail(ErrorCode::bad_file, fmt::format("the quantization of activations has no '{}'", name));
  return *f;
}

/// How the exponent of a block's scale follows from the bits `b` of its largest magnitude (float32), the rule's name in
/// torchao and its formula. `p` is the exponent of the element type's largest number; NaN is dealt with outside.
struct ScaleRule {
  std::string_view name, code;
};
constexpr ScaleRule kScaleRules[] = {
    {"floor", "(b >> 23) - p"},
    {"ceil", "(b >> 23) + where((b & 8388607) > 0, 1, 0) - p"},
    // The magnitude is first rounded to the element type's digits.
    {"even", "((b + half) >> 23) - p"},
    // Here b has the bits of magnitude / largest number: the smallest power of two that is no less.
    {"rceil", "b <= 4194304 ? 0 : min((b >> 23) + where((b & 8388607) > 0, 1, 0), 254)"},
};

/// The exponents, with bias 127, of the scales of x [.., blocks, block]: 255 for NaN.
ValueId scale_codes(Builder& b, ValueId x, const NarrowFloat& type, std::string_view rule) {
  const auto* at = std::ranges::find(kScaleRules, rule, &ScaleRule::name);
  if (at == std::end(kScaleRules))
    fail(ErrorCode::unsupported, fmt::format("the rule '{}' of MX scales is not known", rule));
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

ValueId dequantize_mx(Builder& b, const QuantizedTensor& q) {
  const NarrowFloat& type = element_type(q.attribute("elem_dtype"));
  ValueId elements = q.value("qdata"), scales = q.value("scale");
  const bool transposed = stored_transposed(q, "qdata");
  if (transposed) {
    elements = b.transpose(elements, -2, -1);
    scales = b.transpose(scales, -2, -1);
  }
  const Attr block = attr(AttrKey::block, Dim(q.integer("block_size")));
  const pt2::PickledAttribute* swizzled = q.tensor->attribute("is_swizzled_scales");
  const bool tiles = swizzled != nullptr && swizzled->integer != 0;
  const Attr layout =
      attr(AttrKey::layout, Dim(static_cast<std::int64_t>(tiles ? ScaleLayout::swizzled_32_4_4 : ScaleLayout::plain)));
  const ValueId packed = b.add(Op::mx_pack, {elements, scales}, {attr_dtype(type.dtype), block, layout});
  const ValueId y = b.add(Op::mx_dequantize, {packed}, {attr_dtype(q.tensor->dtype), block, layout});
  return transposed ? b.transpose(y, -2, -1) : y;
}

/// The activation is quantized and widened again, as torchao's emulation does; products of such numbers are exact.
QuantizedProduct multiply_mx(Builder& b, QuantizedTensor& weight, ValueId x) {
  const pt2::PickledAttribute& how = weight.attribute("act_quant_kwargs");
  const NarrowFloat& type = element_type(field(how, "elem_dtype"));
  const std::int64_t block = field(how, "block_size").integer;
  const pt2::PickledAttribute& rule = field(how, "scaling_mode");
  if (block < 1 || block > (1 << 20)) fail(ErrorCode::bad_file, fmt::format("MX blocks of {} elements", block));
  const DType dtype = b.dtype(x);
  const Dims shape(b.shape(x));
  if (shape.empty()) fail(ErrorCode::bad_file, "the activation has no dimensions");
  Dims blocks = shape;
  blocks.back() = b.pool().floordiv(shape.back(), block);
  blocks.emplace_back(block);
  const ValueId in_blocks = b.cast(b.reshape(x, blocks), DType::f32);
  const std::string rule_name = rule.items.size() == 1 ? rule.items[0].text : std::string();
  const ValueId codes = scale_codes(b, in_blocks, type, rule_name);
  const ValueId bits = b.expr("c << 23", {{"c", codes}}, DType::i64, DType::i32);
  const ValueId power = b.add(Op::bitcast, {bits}, {attr_dtype(DType::f32)});  // 2^(code - 127), 0 for code 0
  // Blocks of zeros and of the smallest numbers have a divisor of their own.
  const bool divides = rule_name == "rceil";
  const ValueId scaled = b.expr(divides ? "where(s == 0, x, x / s)" : "x / max(s, 1.1754943508222875e-38)",
                                {{"x", in_blocks}, {"s", power}}, DType::f32);
  const ValueId rounded = round_to(b, scaled, type);
  const ValueId y = b.expr("x * where(s == 0, 5.877471754111438e-39, where(isinf(s), nan, s))",
                           {{"x", rounded}, {"s", power}}, DType::f32, dtype);
  return {b.reshape(y, shape), dequantize(b, weight)};
}

}  // namespace tern::subclasses
