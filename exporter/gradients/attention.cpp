// The rule of attention: scores and their softmax are computed again. With P = softmax(S), S = scale * q k^T + mask and
// y = P v: dv = P^T dy, dP = dy v^T, dS = P * (dP - rowsum(P * dP)), dq = scale * dS k, dk = scale * dS^T q.
#include <cmath>
#include <limits>

#include "exporter/gradients/differentiate.h"
#include "exporter/gradients/rules.h"
#include "exporter/gradients/shapes.h"

namespace tern {
namespace {

ValueId matmul_as(Builder& b, ValueId a, ValueId right, DType t) {
  return b.add(Op::matmul, {a, right, kNoValue}, {attr_dtype(t)});
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
  const DType t = b.dtype(c.operand(0)), compute_dtype = compute_type(t);
  const Dim groups = b.rank(c.operand(1)) >= 3 ? b.size(c.operand(1), -3) : Dim(1);
  const bool shared = b.rank(c.operand(0)) >= 3 && !(b.size(c.operand(0), -3) == groups);
  ValueId q = c.operand(0), k = c.operand(1), v = c.operand(2), g = c.grad(0), mask = c.operand(3);
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
    scale = ExprArg("f", b.expr("rsqrt(d)", {{"d", b.from_dim(depth)}}, compute_dtype));
  }
  // Scales the queries instead of the far more numerous scores.
  const ValueId scaled_q = b.expr("q * f", {{"q", q}, scale}, compute_dtype), wide_k = b.cast(k, compute_dtype);
  std::vector<ExprArg> args = {{"s", matmul_as(b, scaled_q, b.transpose(wide_k, -2, -1), compute_dtype)}};
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
  const ValueId scores = args.size() == 1 ? args[0].value : b.expr(text, args, compute_dtype);
  const ValueId p = mask == kNoValue ? b.add(Op::softmax, {scores}, {attr(AttrKey::axis, Dim(-1))})
                                     : masked_softmax(b, scores, compute_dtype);
  const ValueId wide_g = b.cast(g, compute_dtype);

  const auto add_operand_gradient = [&](std::size_t i, ValueId gradient) {
    if (shared && i == 0) {
      Dims sizes(b.shape(gradient).begin(), b.shape(gradient).end() - 4);
      sizes.insert(sizes.end(), b.shape(c.operand(0)).end() - 3, b.shape(c.operand(0)).end());
      gradient = b.reshape(gradient, sizes);
    } else if (shared) {
      gradient = b.reduce(gradient, "sum", {-3}, false, compute_dtype);
    }
    c.add_gradient(i, gradient);
  };
  if (c.needs_gradient(2)) add_operand_gradient(2, matmul_as(b, b.transpose(p, -2, -1), wide_g, compute_dtype));
  if (!c.needs_gradient(0) && !c.needs_gradient(1) && !c.needs_gradient(3)) return;
  const ValueId gp = matmul_as(b, wide_g, b.transpose(b.cast(v, compute_dtype), -2, -1), compute_dtype);
  // Equal to the sum of dy * y, but rows of dS add up to zero as closely as p and dP are held.
  const ValueId dot = b.reduce(b.expr("p * g", {{"p", p}, {"g", gp}}, compute_dtype), "sum", {-1}, true, compute_dtype);
  const ValueId gs = b.expr("p * (g - d)", {{"p", p}, {"g", gp}, {"d", dot}}, compute_dtype);
  if (c.needs_gradient(0))
    add_operand_gradient(0, b.expr("g * f", {{"g", matmul_as(b, gs, wide_k, compute_dtype)}, scale}, compute_dtype));
  if (c.needs_gradient(1)) add_operand_gradient(1, matmul_as(b, b.transpose(gs, -2, -1), scaled_q, compute_dtype));
  if (c.needs_gradient(3)) c.add_gradient(3, b.reshape(gradient_like(b, gs, mask), b.shape(c.operand(3))));
}

}  // namespace tern
