// The rule of attention: scores and their softmax are computed again. With P = softmax(S), S = scale * q k^T + mask and
// y = P v: dv = P^T dy, dP = dy v^T, dS = P * (dP - rowsum(P * dP)), dq = scale * dS k, dk = scale * dS^T q.
#include <cmath>
#include <limits>

#include "exporter/gradients/differentiate.h"
#include "exporter/gradients/rules.h"
#include "exporter/gradients/shapes.h"

namespace tern {
namespace {

ValueId times(Builder& b, ValueId a, ValueId other, DType t) {
  return b.add(Op::matmul, {a, other, kNoValue}, {attr_dtype(t)});
}

/// [..., heads, rows, columns] as [..., groups, heads / groups, rows, columns].
ValueId split_head_groups(Builder& b, ValueId v, Dim groups) {
  Dims sizes = b.shape(v);
  const std::size_t index = sizes.size() - 3;
  const Dim heads = sizes[index];
  sizes[index] = groups;
  sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(index) + 1, b.pool().floordiv(heads, groups));
  return b.reshape(v, sizes);
}

/// A query without visible keys has scores of -inf alone, yields zeros, and passes no gradient on.
ValueId masked_softmax(Builder& b, ValueId scores, DType t) {
  const ValueId top = b.reduce(scores, "max", {-1}, true, t);
  const ValueId powers = b.expr("t == -inf ? 0 : exp(s - t)", {{"s", scores}, {"t", top}}, t);
  const ValueId total = b.reduce(powers, "sum", {-1}, true, t);
  return b.expr("t == 0 ? 0 : p / t", {{"p", powers}, {"t", total}}, t);
}

}  // namespace

void differentiate_attention(GradientCall& c) {
  Builder& b = c.b;
  const DType t = b.dtype(c.in(0)), wide = compute_type(t);
  const Dim groups = b.rank(c.in(1)) >= 3 ? b.size(c.in(1), -3) : Dim(1);
  const bool shared = b.rank(c.in(0)) >= 3 && !(b.size(c.in(0), -3) == groups);
  ValueId q = c.in(0), k = c.in(1), v = c.in(2), g = c.grad(0), mask = c.in(3);
  if (shared) {
    if (mask != kNoValue && b.rank(mask) >= 3) {
      mask = b.size(mask, -3).is(1) ? b.unsqueeze(mask, -3) : split_head_groups(b, mask, groups);
    }
    q = split_head_groups(b, q, groups);
    g = split_head_groups(b, g, groups);
    k = b.unsqueeze(k, -3);
    v = b.unsqueeze(v, -3);
  }
  const Dim depth = b.size(q, -1);
  ExprArg scale("f", c.node.number(AttrKey::scale));
  if (!c.node.has(AttrKey::scale) && depth.is_const()) {
    scale = ExprArg("f", 1 / std::sqrt(static_cast<double>(depth.value())));
  } else if (!c.node.has(AttrKey::scale)) {
    scale = ExprArg("f", b.expr("rsqrt(d)", {{"d", b.from_dim(depth)}}, wide));
  }
  // Scales the queries instead of the far more numerous scores.
  const ValueId scaled_q = b.expr("q * f", {{"q", q}, scale}, wide), wide_k = b.cast(k, wide);
  std::vector<ExprArg> args = {{"s", times(b, scaled_q, b.transpose(wide_k, -2, -1), wide)}};
  std::string text = "s";
  if (mask != kNoValue) {
    args.emplace_back("m", mask);
    text = b.dtype(mask) == DType::boolean ? "m ? " + text + " : -inf" : text + " + m";
  }
  if (c.flag(AttrKey::causal)) {
    const Dim rows = b.size(q, -2), columns = b.size(k, -2);
    const ValueId row = b.reshape(b.iota(rows, DType::i64), {rows, 1}), column = b.iota(columns, DType::i64);
    args.emplace_back("seen", b.expr("r >= c", {{"r", row}, {"c", column}}, DType::i64, DType::boolean));
    text = "seen ? " + text + " : -inf";
  }
  const ValueId scores = args.size() == 1 ? args[0].value : b.expr(text, args, wide);
  const ValueId p =
      mask == kNoValue ? b.add(Op::softmax, {scores}, {attr(AttrKey::axis, Dim(-1))}) : masked_softmax(b, scores, wide);
  const ValueId wide_g = b.cast(g, wide);

  const auto give = [&](std::size_t i, ValueId gradient) {
    if (shared && i == 0) {
      Dims sizes(b.shape(gradient).begin(), b.shape(gradient).end() - 4);
      sizes.insert(sizes.end(), b.shape(c.in(0)).end() - 3, b.shape(c.in(0)).end());
      gradient = b.reshape(gradient, sizes);
    } else if (shared) {
      gradient = b.reduce(gradient, "sum", {-3}, false, wide);
    }
    c.add_gradient(i, gradient);
  };
  if (c.needs_gradient(2)) give(2, times(b, b.transpose(p, -2, -1), wide_g, wide));
  if (!c.needs_gradient(0) && !c.needs_gradient(1) && !c.needs_gradient(3)) return;
  const ValueId gp = times(b, wide_g, b.transpose(b.cast(v, wide), -2, -1), wide);
  // Equal to the sum of dy * y, but rows of dS add up to zero as closely as p and dP are held.
  const ValueId dot = b.reduce(b.expr("p * g", {{"p", p}, {"g", gp}}, wide), "sum", {-1}, true, wide);
  const ValueId gs = b.expr("p * (g - d)", {{"p", p}, {"g", gp}, {"d", dot}}, wide);
  if (c.needs_gradient(0)) give(0, b.expr("g * f", {{"g", times(b, gs, wide_k, wide)}, scale}, wide));
  if (c.needs_gradient(1)) give(1, times(b, b.transpose(gs, -2, -1), scaled_q, wide));
  if (c.needs_gradient(3)) c.add_gradient(3, b.reshape(gradient_like(b, gs, mask), b.shape(c.in(3))));
}

}  // namespace tern
