// Gradients of activations and losses: one formula each; g is the result's gradient.
#include "exporter/lower/gradients.h"

#include <algorithm>

#include "exporter/lower/pointwise.h"
#include "exporter/lower/quantization.h"

namespace tern {
namespace {

using Values = std::vector<ValueId>;

/// The formula over tensors named by their first letters; numbers of the call are read by name.
ValueId formula(Builder& b, const Call& c, std::string_view text, std::vector<ExprArg> args) {
  return b.expr(text, std::move(args), c.result_dtype());
}

Values threshold(Builder& b, const Call& c) {
  return {formula(b, c, "x <= t ? 0 : g",
                  {{"g", c.tensor("grad_output")}, {"x", c.tensor("self")}, {"t", c.number("threshold")}})};
}
Values tanh(Builder& b, const Call& c) {
  return {formula(b, c, "g * (1 - y * y)", {{"g", c.tensor("grad_output")}, {"y", c.tensor("output")}})};
}
Values sigmoid(Builder& b, const Call& c) {
  return {formula(b, c, "g * (1 - y) * y", {{"g", c.tensor("grad_output")}, {"y", c.tensor("output")}})};
}

/// Formulas of grad_output and self alone.
template <const char* const& kText>
Values input_formula(Builder& b, const Call& c) {
  return {formula(b, c, kText, {{"g", c.tensor("grad_output")}, {"x", c.tensor("self")}})};
}
constexpr const char* kSilu = "s = sigmoid(x); g * s * (1 + x * (1 - s))";
constexpr const char* kHardsigmoid = "x > -3 && x < 3 ? g / 6 : 0";
constexpr const char* kHardswish = "x <= -3 ? 0 : x < 3 ? g * (x / 3 + 0.5) : g";
constexpr const char* kMish = "t = tanh(log1p(exp(x))); s = sigmoid(x); g * (t + x * s * (1 - t * t))";
constexpr const char* kLogSigmoid = "g * sigmoid(-x)";
constexpr const char* kGelu =
    "g * (0.5 * (1 + erf(x * 0.70710678118654752440)) + x * exp(-0.5 * x * x) * 0.39894228040143267794)";
constexpr const char* kGeluTanh =
    "k = 0.79788456080286535588; i = k * (x + 0.044715 * x * x * x); t = tanh(i);"
    "g * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * k * (1 + 3 * 0.044715 * x * x))";

Values gelu_gradient(Builder& b, const Call& c) {
  return c.text("approximate") == "tanh" ? input_formula<kGeluTanh>(b, c) : input_formula<kGelu>(b, c);
}
Values hardtanh(Builder& b, const Call& c) {
  return {formula(b, c, "x <= l || x >= h ? 0 : g",
                  {{"g", c.tensor("grad_output")},
                   {"x", c.tensor("self")},
                   {"l", c.number("min_val")},
                   {"h", c.number("max_val")}})};
}
Values leaky_relu(Builder& b, const Call& c) {
  return {formula(b, c, "x > 0 ? g : g * s",
                  {{"g", c.tensor("grad_output")}, {"x", c.tensor("self")}, {"s", c.number("negative_slope")}})};
}
Values elu(Builder& b, const Call& c) {
  return {formula(
      b, c,
      c.flag("is_result") ? "x <= 0 ? g * i * (x + a * s) : g * s" : "x <= 0 ? g * i * a * s * exp(x * i) : g * s",
      {{"g", c.tensor("grad_output")},
       {"x", c.tensor("self_or_result")},
       {"a", c.number("alpha")},
       {"s", c.number("scale")},
       {"i", c.number("input_scale")}})};
}
Values softplus(Builder& b, const Call& c) {
  return {formula(b, c, "x * k > t ? g : g * sigmoid(x * k)",
                  {{"g", c.tensor("grad_output")},
                   {"x", c.tensor("self")},
                   {"k", c.number("beta")},
                   {"t", c.number("threshold")}})};
}
Values shrink(Builder& b, const Call& c) {
  const bool soft = c.target.find("softshrink") != std::string::npos;
  return {formula(b, c, "x >= -l && x <= l ? 0 : g",
                  {{"g", c.tensor(soft ? ArgumentName("grad_output") : "grad_out")},
                   {"x", c.tensor("self")},
                   {"l", rounded_to(c.number("lambd"), b.dtype(c.tensor("self")))}})};
}
Values glu_gradient(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self"), g = c.tensor("grad_output");
  const std::int64_t dim = b.normal_axis(x, c.integer("dim"));
  const auto [a, gate] = glu_halves(b, x, dim);
  const ValueId first = b.expr("g * sigmoid(b)", {{"g", g}, {"b", gate}}, b.dtype(x));
  const ValueId second = b.expr("s = sigmoid(b); g * a * s * (1 - s)", {{"g", g}, {"a", a}, {"b", gate}}, b.dtype(x));
  return {b.concat({first, second}, dim)};
}
Values dropout_gradient(Builder& b, const Call& c) {
  return {formula(b, c, "m ? g * s : 0",
                  {{"g", c.tensor("grad_output")}, {"m", c.tensor("mask")}, {"s", c.number("scale")}})};
}
Values logit_gradient(Builder& b, const Call& c) {
  const double e = c.number_or("eps", -1);
  return {formula(b, c,
                  e < 0 ? "x < 0 || x > 1 ? nan : g / (x * (1 - x))" : "x < e || x > 1 - e ? 0 : g / (x * (1 - x))",
                  {{"g", c.tensor("grad_output")}, {"x", c.tensor("self")}, {"e", e}})};
}
Values prelu_gradient(Builder& b, const Call& c) {
  const ValueId g = c.tensor("grad_output"), x = c.tensor("self"), w = c.tensor("weight");
  return {b.expr("x > 0 ? g : w * g", {{"g", g}, {"x", x}, {"w", w}}, c.result_dtype(0)),
          b.expr("x > 0 ? 0 : x * g", {{"g", g}, {"x", x}}, c.result_dtype(1))};
}

/// 1 / n for the mean of n elements.
double mean_scale(Builder& b, const Call& c) {
  if (c.integer("reduction") != 1) return 1;
  const Dim n = b.numel(c.tensor("self"));
  if (!n.is_const()) c.unsupported("a mean needs a constant number of elements");
  return 1.0 / static_cast<double>(std::max<std::int64_t>(1, n.value()));
}
Values loss_gradient(Builder& b, const Call& c, std::string_view text, double parameter = 0) {
  return {formula(b, c, text,
                  {{"g", c.tensor("grad_output")},
                   {"x", c.tensor("self")},
                   {"t", c.tensor("target")},
                   {"n", mean_scale(b, c)},
                   {"p", parameter}})};
}
Values mse_gradient(Builder& b, const Call& c) {
  return loss_gradient(b, c, "n * 2 * (x - t) * g");
}
Values smooth_l1_gradient(Builder& b, const Call& c) {
  return loss_gradient(b, c, "d = x - t; n * g * (d <= -p ? -1 : d >= p ? 1 : d / p)", c.number("beta"));
}
Values huber_gradient(Builder& b, const Call& c) {
  return loss_gradient(b, c, "d = x - t; n * g * (d <= -p ? -p : d >= p ? p : d)", c.number("delta"));
}
Values soft_margin_gradient(Builder& b, const Call& c) {
  return loss_gradient(b, c, "z = exp(-t * x); -n * t * g * z / (1 + z)");
}
Values binary_cross_entropy(Builder& b, const Call& c) {
  const ValueId w = c.has_argument("weight") ? c.tensor("weight") : b.full({}, 1, c.result_dtype());
  return {formula(b, c, "n * w * g * (x - t) / max((1 - x) * x, 1e-12)",
                  {{"g", c.tensor("grad_output")},
                   {"x", c.tensor("self")},
                   {"t", c.tensor("target")},
                   {"w", w},
                   {"n", mean_scale(b, c)}})};
}

/// -weight at the target's class, divided by the sum of the weights for a mean. Classes are axis 1 (axis 0 of one
/// sample).
Values nll_loss(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  const std::int64_t axis = b.rank(x) == 1 ? 0 : 1;
  const DType t = b.dtype(x);
  const ValueId target = b.cast(c.tensor("target"), DType::i64);
  const ValueId classes = b.unsqueeze(target, axis);
  Dims per_class(static_cast<std::size_t>(b.rank(x)), 1);
  per_class[static_cast<std::size_t>(axis)] = b.size(x, axis);
  const ValueId number = b.reshape(b.iota(b.size(x, axis), DType::i64), per_class);
  const ValueId is_target = b.expr("k == t && t != i", {{"k", number}, {"t", classes}, {"i", c.number("ignore_index")}},
                                   DType::i64, DType::boolean);
  const ValueId w = c.has_argument("weight") ? b.reshape(c.tensor("weight"), per_class) : b.full({}, 1, t);
  const std::int64_t reduction = c.integer("reduction");
  const ValueId g =
      reduction == 0 ? b.unsqueeze(c.tensor("grad_output"), axis) : b.reshape(c.tensor("grad_output"), {});
  const ValueId total = reduction == 1 ? b.reshape(c.tensor("total_weight"), {}) : b.full({}, 1, t);
  return {b.expr("m ? -g * w / n : 0", {{"m", is_target}, {"g", g}, {"w", w}, {"n", total}}, t)};
}

constexpr Lowering kGradientsLowerings[] = {
    {"aten.threshold_backward.default", threshold},
    {"aten.tanh_backward.default", tanh},
    {"aten.sigmoid_backward.default", sigmoid},
    {"aten.silu_backward.default", input_formula<kSilu>},
    {"aten.hardsigmoid_backward.default", input_formula<kHardsigmoid>},
    {"aten.hardswish_backward.default", input_formula<kHardswish>},
    {"aten.mish_backward.default", input_formula<kMish>},
    {"aten.log_sigmoid_backward.default", input_formula<kLogSigmoid>},
    {"aten.gelu_backward.default", gelu_gradient},
    {"aten.hardtanh_backward.default", hardtanh},
    {"aten.leaky_relu_backward.default", leaky_relu},
    {"aten.elu_backward.default", elu},
    {"aten.softplus_backward.default", softplus},
    {"aten.softshrink_backward.default", shrink},
    {"aten.hardshrink_backward.default", shrink},
    {"aten.glu_backward.default", glu_gradient},
    {"aten.native_dropout_backward.default", dropout_gradient},
    {"aten.logit_backward.default", logit_gradient},
    {"aten._prelu_kernel_backward.default", prelu_gradient},
    {"aten.mse_loss_backward.default", mse_gradient},
    {"aten.smooth_l1_loss_backward.default", smooth_l1_gradient},
    {"aten.huber_loss_backward.default", huber_gradient},
    {"aten.soft_margin_loss_backward.default", soft_margin_gradient},
    {"aten.binary_cross_entropy_backward.default", binary_cross_entropy},
    {"aten.nll_loss_backward.default", nll_loss},
    {"aten.nll_loss2d_backward.default", nll_loss},
};

}  // namespace

std::span<const Lowering> pointwise_gradient_lowerings() {
  return kGradientsLowerings;
}

std::span<const Lowering> gradient_lowerings() {
  static const std::vector<Lowering> lowerings = [] {
    std::vector<Lowering> v;
    for (auto table : {pointwise_gradient_lowerings(), index_gradient_lowerings(), window_gradient_lowerings(),
                       norm_gradient_lowerings(), recomputed_gradient_lowerings()}) {
      v.insert(v.end(), table.begin(), table.end());
    }
    return v;
  }();
  return lowerings;
}

}  // namespace tern
