#include "exporter/quantize/activations.h"

namespace tern::quantize {
namespace {

constexpr double kLeastScale = 0x1p-23;

}  // namespace

QuantizedRows quantize_rows(Builder& b, ValueId x) {
  const DType t = b.dtype(x);
  const ValueId magnitudes = b.expr("abs(x)", {{"x", x}}, t);
  const ValueId largest = b.reduce(magnitudes, "max", {-1}, true, t);
  const std::string_view scale = t == DType::bf16  ? "max(bfloat16(m / 127.5), least)"
                                 : t == DType::f16 ? "max(float16(m / 127.5), least)"
                                                   : "max(m / 127.5, least)";
  QuantizedRows r;
  r.scales = b.expr(scale, {{"m", largest}, {"least", kLeastScale}}, DType::f32, DType::f32);
  r.elements = b.expr("min(max(round(x * (1 / s)), -128), 127)", {{"x", x}, {"s", r.scales}}, DType::f32, DType::i8);
  return r;
}

ValueId integer_product(Builder& b, const Node& n, const QuantizedRows& x, ValueId elements, ValueId scales) {
  const DType result = b.dtype(n.outputs[0]);
  Node product = n;
  product.inputs = {x.elements, b.transpose(elements, 0, 1)};
  product.outputs.clear();
  product.set(AttrKey::dtype, Dims{static_cast<std::int64_t>(DType::f32)});
  const ValueId sums = b.add(std::move(product)).front();
  std::vector<ExprArg> args = {{"p", sums}, {"s", x.scales}, {"w", scales}};
  const bool biased = n.inputs.size() > 2 && n.inputs[2] != kNoValue;
  if (biased) args.emplace_back("b", n.inputs[2]);
  return b.expr(biased ? "p * (s * w) + b" : "p * (s * w)", std::move(args), DType::f32, result);
}

}  // namespace tern::quantize
