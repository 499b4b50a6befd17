// Gradients of the normalizations. With h = (x - mean) * rstd, and g the gradient of h, that of x is
// rstd * (g - mean(g) - h * mean(g * h)), over the axes that mean and rstd are computed over. Gradients of mean and
// rstd as results are left out, as PyTorch leaves them out.
#include "exporter/gradients/normalizations.h"

#include "exporter/gradients/rules.h"
#include "exporter/gradients/shapes.h"

namespace tern {

NormalizedGradients normalized_gradients(Builder& b, const Normalized& n, ValueId grad) {
  const DType compute_dtype = compute_type(b.dtype(n.x));
  // Recomputes h at each read: storing h costs more than its two operations.
  const auto expr = [&](std::string_view text, std::vector<ExprArg> args) {
    args.insert(args.end(), {{"x", n.x}, {"m", n.mean}, {"r", n.rstd}, {"g", grad}});
    if (n.weight != kNoValue) args.emplace_back("w", n.weight);
    return b.expr(text, std::move(args), compute_dtype);
  };
  const bool scaled = n.weight != kNoValue;
  NormalizedGradients p;
  p.bias = b.cast(grad, compute_dtype);
  p.weight = expr("g * ((x - m) * r)", {});
  const ValueId g = scaled ? b.expr("g * w", {{"g", grad}, {"w", n.weight}}, compute_dtype) : p.bias;
  const ValueId gh = scaled ? expr("g * w * ((x - m) * r)", {}) : p.weight;
  const ValueId mean_g = b.reduce(g, "mean", n.axes, true, compute_dtype),
                mean_gh = b.reduce(gh, "mean", n.axes, true, compute_dtype);
  p.x = expr(scaled ? "r * (g * w - a - (x - m) * r * b)" : "r * (g - a - (x - m) * r * b)",
             {{"a", mean_g}, {"b", mean_gh}});
  return p;
}

namespace {

void layer_norm(GradientCall& c) {
  if (c.grad(0) == kNoValue) return;
  Builder& b = c.b;
  const ValueId x = c.operand(0);
  const auto k = static_cast<int>(c.node.integer(AttrKey::k));
  Normalized n{x, c.result(1), c.result(2), c.operand(1), {}};
  for (int i = b.rank(x) - k; i < b.rank(x); ++i) n.axes.push_back(i);
  const NormalizedGradients p = normalized_gradients(b, n, c.grad(0));
  c.add_gradient(0, p.x);
  c.add_gradient(1, p.weight);
  c.add_gradient(2, p.bias);
}

/// h = x * r with r = rsqrt(mean(x^2) + epsilon): r * (g - h * mean(g * h)).
void rms_norm(GradientCall& c) {
  Builder& b = c.b;
  const ValueId x = c.operand(0), grad = c.grad(0);
  const DType compute_dtype = compute_type(b.dtype(x));
  const auto k = static_cast<int>(c.node.integer(AttrKey::k));
  std::vector<std::int64_t> axes;
  for (int i = b.rank(x) - k; i < b.rank(x); ++i) axes.push_back(i);
  const ValueId squares = b.reduce(b.expr("x * x", {{"x", x}}, compute_dtype), "mean", axes, true, compute_dtype);
  const ValueId r = b.expr("rsqrt(s + e)", {{"s", squares}, {"e", c.node.number(AttrKey::epsilon)}}, compute_dtype);
  const ValueId hat = b.expr("x * r", {{"x", x}, {"r", r}}, compute_dtype);
  if (c.needs_gradient(0)) {
    const ValueId g = c.has_operand(1) ? b.expr("g * w", {{"g", grad}, {"w", c.operand(1)}}, compute_dtype)
                                       : b.cast(grad, compute_dtype);
    const ValueId mean =
        b.reduce(b.expr("g * h", {{"g", g}, {"h", hat}}, compute_dtype), "mean", axes, true, compute_dtype);
    c.add_gradient(0, b.expr("r * (g - h * m)", {{"r", r}, {"g", g}, {"h", hat}, {"m", mean}}, compute_dtype));
  }
  if (c.needs_gradient(1)) c.add_gradient(1, b.expr("g * h", {{"g", grad}, {"h", hat}}, compute_dtype));
}

void group_norm(GradientCall& c) {
  if (c.grad(0) == kNoValue) return;
  Builder& b = c.b;
  ExprPool& pool = b.pool();
  const ValueId x = c.operand(0);
  const Dims shape = b.shape(x);
  const Dim samples = shape[0], channels = shape[1], groups = c.node.integer(AttrKey::groups);
  const Dim channels_per_group = pool.floordiv(channels, groups),
            inner = pool.product(std::span<const Dim>(shape).subspan(2));
  const Dims grouped = {samples, groups, channels_per_group, inner}, per_group = {samples, groups, 1, 1};
  const auto in_groups = [&](ValueId v, const Dims& sizes) { return v == kNoValue ? v : b.reshape(v, sizes); };
  const Normalized n{b.reshape(x, grouped),
                     b.reshape(c.result(1), per_group),
                     b.reshape(c.result(2), per_group),
                     in_groups(c.operand(1), {1, groups, channels_per_group, 1}),
                     {2, 3}};
  const NormalizedGradients p = normalized_gradients(b, n, b.reshape(c.grad(0), grouped));
  c.add_gradient(0, b.reshape(p.x, shape));
  const auto by_channel = [&](ValueId v) {
    return b.reshape(b.reduce(v, "sum", {0, 3}, false, b.dtype(v)), {channels});
  };
  if (c.needs_gradient(1)) c.add_gradient(1, by_channel(p.weight));
  if (c.needs_gradient(2)) c.add_gradient(2, by_channel(p.bias));
}

/// Mean and variance are operands: their gradients flow to x through the reductions.
void batch_norm(GradientCall& c) {
  Builder& b = c.b;
  const ValueId x = c.operand(0), grad = c.grad(0);
  const DType compute_dtype = compute_type(b.dtype(x));
  Dims per_channel(b.shape(x).size(), 1);
  per_channel[1] = b.size(x, 1);
  const auto spread = [&](ValueId v) { return b.reshape(v, per_channel); };
  const auto by_channel = [&](ValueId v) { return b.reduce(v, "sum", axes_but(b, v, {1}), false, compute_dtype); };
  const ValueId mean = spread(c.operand(1));
  const ValueId rstd =
      b.expr("rsqrt(v + e)", {{"v", spread(c.operand(2))}, {"e", c.node.number(AttrKey::epsilon)}}, compute_dtype);
  const ValueId scale =
      c.has_operand(3) ? b.expr("r * w", {{"r", rstd}, {"w", spread(c.operand(3))}}, compute_dtype) : rstd;
  c.add_gradient(0, b.expr("g * s", {{"g", grad}, {"s", scale}}, compute_dtype));
  // All others are multiples of two sums over each channel: of g, and of g * h.
  const auto per_channel_of = [&](ValueId v) { return b.reshape(v, {b.size(x, 1)}); };
  const ValueId s = per_channel_of(scale), r = per_channel_of(rstd);
  const ValueId sum = c.needs_gradient(1) || c.needs_gradient(4) ? by_channel(grad) : kNoValue;
  if (c.needs_gradient(1)) c.add_gradient(1, b.expr("-s * g", {{"s", s}, {"g", sum}}, compute_dtype));
  if (c.needs_gradient(4)) c.add_gradient(4, sum);
  if (!c.needs_gradient(2) && !c.needs_gradient(3)) return;
  const ValueId weighted =
      by_channel(b.expr("g * ((x - m) * r)", {{"g", grad}, {"x", x}, {"m", mean}, {"r", rstd}}, compute_dtype));
  if (c.needs_gradient(2))
    c.add_gradient(2, b.expr("-0.5 * s * r * w", {{"s", s}, {"r", r}, {"w", weighted}}, compute_dtype));
  c.add_gradient(3, weighted);
}

constexpr GradientEntry kNormalizationsRules[] = {
    {Op::layer_norm, layer_norm},
    {Op::rms_norm, rms_norm},
    {Op::group_norm, group_norm},
    {Op::batch_norm, batch_norm},
};

}  // namespace

std::span<const GradientEntry> gradients_of_normalizations() {
  return kNormalizationsRules;
}

}  // namespace tern
