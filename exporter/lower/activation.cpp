// Activations with modes, and activations over a split or reshaped operand.
#include <array>

#include "exporter/lower/pointwise.h"

namespace tern {
namespace {

Values gelu(Builder& b, const Call& c) {
  const std::string mode = c.text_or("approximate", "none");
  if (mode == "none") return {lower_text(b, c, "0.5 * self * (1 + erf(self * 0.70710678118654752440))")};
  if (mode == "tanh") {
    return {
        lower_text(b, c, "0.5 * self * (1 + tanh(0.79788456080286535588 * (self + 0.044715 * (self * self * self))))")};
  }
  c.unsupported("unsupported approximation '" + mode + "'");
}

/// `weight` holds a value per channel (axis 1), or a single value.
Values prelu(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  ValueId weight = c.tensor("weight");
  if (b.rank(weight) == 1 && b.rank(x) > 2 && !b.size(weight, 0).is(1)) {
    Dims sizes(static_cast<std::size_t>(b.rank(x)) - 1, 1);
    sizes[0] = b.size(weight, 0);
    weight = b.reshape(weight, std::move(sizes));
  } else if (b.rank(weight) == 1 && b.rank(x) < 2) {
    weight = b.reshape(weight, {});
  }
  return {b.expr("x > 0 ? x : weight * x", {{"x", x}, {"weight", weight}}, c.result_dtype())};
}

Values glu(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  const std::int64_t axis = b.normal_axis(x, c.integer("dim"));
  const GluHalves halves = glu_halves(b, x, axis);
  return {b.expr("a * sigmoid(g)", {{"a", halves.values}, {"g", halves.gates}}, c.result_dtype())};
}

/// Training draws a new slope for each element.
Values rrelu(Builder& b, const Call& c) {
  if (!c.flag_or("training", false)) return {lower_text(b, c, "self > 0 ? self : self * ((lower + upper) / 2)")};
  const ValueId x = c.tensor("self");
  return {b.expr("x > 0 ? x : x * (lower + u * (upper - lower))",
                 {{"x", x},
                  {"u", random_value(b, "uniform", b.shape(x), DType::f32)},
                  {"lower", c.number("lower")},
                  {"upper", c.number("upper")}},
                 c.result_dtype())};
}

/// The noise serves the gradient alone.
Values rrelu_with_noise(Builder& b, const Call& c) {
  return {rrelu(b, c)[0], c.tensor("noise")};
}

/// Returns the value, and a buffer for the gradient alone.
Values log_sigmoid_forward(Builder& b, const Call& c) {
  return {lower_text(b, c, "min(self, 0) - log1p(exp(-abs(self)))"), lower_text(b, c, "exp(-abs(self))")};
}

constexpr std::array kActivationLowerings = {
    Lowering{"aten.gelu.default", gelu},
    Lowering{"aten.prelu.default", prelu},
    Lowering{"aten._prelu_kernel.default", prelu},
    Lowering{"aten.glu.default", glu},
    Lowering{"aten.rrelu_with_noise_functional.default", rrelu_with_noise},
    Lowering{"aten.rrelu.default", rrelu},
    Lowering{"aten.log_sigmoid_forward.default", log_sigmoid_forward},
};

}  // namespace

GluHalves glu_halves(Builder& b, ValueId x, std::int64_t axis) {
  const Dim half = b.pool().floordiv(b.size(x, axis), 2);
  return {b.slice(x, axis, 0, half), b.slice(x, axis, half, half)};
}

std::span<const Lowering> activation_lowerings() {
  return kActivationLowerings;
}

}  // namespace tern
