#include "exporter/passes/quantize/activations.h"

#include "exporter/microscaling/round.h"

namespace tern::quantize {
namespace {

constexpr double kLeastIntegerScale = 0x1p-23;

/// Formulas of the scale, from the row's largest magnitude m, and of an element, from x and the scale s.
struct RowFormula {
  DType element;
  std::string_view scale, clamped_scale, number;
};
// Rows of zeros have zeros as elements: torchao's float8 divides zero by zero there.
constexpr RowFormula kInt8 = {DType::i8, "m / 127.5", "max({}, least)", "min(max(round(x * (1 / s)), -128), 127)"};
constexpr RowFormula kFloat8 = {DType::f8_e4m3fn, "m / 448", "{}", "min(max(x / (s == 0 ? inf : s), -448), 448)"};

/// The scale in the activations' type, converted to float32.
std::string scale_text(const RowFormula& f, DType t) {
  std::string text(f.scale);
  if (t == DType::bf16) text = "bfloat16(" + text + ")";
  if (t == DType::f16) text = "float16(" + text + ")";
  std::string formula(f.clamped_scale);
  return formula.replace(formula.find("{}"), 2, text);
}

std::string_view rule_of(MxScales scales) {
  return scales == MxScales::even ? "even" : scales == MxScales::ceil ? "ceil" : "floor";
}

}  // namespace

QuantizedRows quantize_rows(Builder& b, ValueId x, Activations activations) {
  const RowFormula& formula = activations == Activations::int8 ? kInt8 : kFloat8;
  const DType t = b.dtype(x);
  const ValueId magnitudes = b.expr("abs(x)", {{"x", x}}, t);
  const ValueId largest = b.reduce(magnitudes, "max", {-1}, true, t);
  std::vector<ExprArg> args = {{"m", largest}};
  if (activations == Activations::int8) args.emplace_back("least", kLeastIntegerScale);
  QuantizedRows r;
  r.scales = b.expr(scale_text(formula, t), std::move(args), DType::f32, DType::f32);
  r.elements = b.expr(formula.number, {{"x", x}, {"s", r.scales}}, DType::f32, formula.element);
  return r;
}

ValueId product_of_elements(Builder& b, const Node& n, const QuantizedRows& x, ValueId elements, ValueId scales) {
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

DType activation_element(const Format& weight) {
  return weight.scheme == Scheme::microscaling ? weight.element : DType::f8_e4m3fn;
}

ValueId microscaled(Builder& b, ValueId x, DType element, MxScales scales) {
  const DType t = b.dtype(x);
  return microscaling::round_to_mx(b, x, *microscaling::find_narrow_float(element), kActivationBlock, rule_of(scales),
                                   t == DType::f16 ? DType::f32 : t);
}

}  // namespace tern::quantize
