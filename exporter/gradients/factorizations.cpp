// Rules of factorizations: cholesky, qr, LU. The gradient of a hermitian matrix is hermitian, as in PyTorch, although
// the factorization reads one triangle.
#include "exporter/gradients/matrices.h"
#include "exporter/gradients/rules.h"

namespace tern {
namespace {

/// Gradient of A = Q R for square R: (g_Q + Q M) R^-H, with M hermitian with the upper triangle of g_R R^H - Q^H g_Q.
ValueId qr_gradient(Builder& b, ValueId q, ValueId r, ValueId gq, ValueId gr) {
  ValueId m = gr == kNoValue ? kNoValue : times(b, gr, hermitian(b, r));
  if (gq != kNoValue) {
    const ValueId from_q = times(b, hermitian(b, q), gq);
    m = m == kNoValue ? b.expr("-x", {{"x", from_q}}, b.dtype(q))
                      : b.expr("m - x", {{"m", m}, {"x", from_q}}, b.dtype(q));
  }
  const ValueId sum = add_optional(b, times(b, q, add_adjoint(b, lower_half(b, hermitian(b, m)))), gq);
  return triangular_solve(b, r, sum, {.upper = true, .left = false, .op = TransposeKind::adjoint});
}

/// P x, of the pivots of an LU factorization of `rows` rows.
ValueId permuted(Builder& b, ValueId pivots, ValueId x, TransposeKind op) {
  const Dim m = b.size(x, -2), k = b.size(pivots, -1);
  if (!b.pool().proved_equal(m, k)) {  // rows behind the pivots stay
    const Dim remaining = b.pool().sub(m, k);
    Dims sizes(b.shape(pivots).begin(), b.shape(pivots).end() - 1);
    sizes.push_back(remaining);
    pivots = b.concat({pivots, b.expand(b.slice(b.iota(m, DType::i32, 1), 0, k, remaining), sizes)}, -1);
  }
  Dims batch(b.shape(pivots).begin(), b.shape(pivots).end() - 1);
  const ValueId identity_matrix = b.expand(identity(b, m, b.dtype(x)), append_sizes(batch, {m, m}));
  return lu_solve(b, identity_matrix, pivots, x, true, op);
}

/// Replaces zeros on the diagonal by the machine epsilon: the determinant of a singular matrix then has a gradient.
ValueId replace_diagonal_zeros(Builder& b, ValueId upper) {
  const ValueId diagonal_mask = identity(b, b.size(upper, -1), DType::boolean);
  return b.expr("o && u == 0 ? e : u", {{"o", diagonal_mask}, {"u", upper}, {"e", machine_epsilon(b.dtype(upper))}},
                b.dtype(upper));
}

}  // namespace

void differentiate_cholesky(GradientCall& c) {
  Builder& b = c.b;
  if (c.grad(0) == kNoValue) return;
  const bool upper = c.flag(AttrKey::upper);
  const ValueId l = upper ? hermitian(b, c.result(0)) : c.result(0);
  const ValueId g = upper ? hermitian(b, c.grad(0)) : c.grad(0);
  const ValueId phi = lower_half(b, times(b, hermitian(b, l), g));
  const ValueId left = triangular_solve(b, l, phi, {.op = TransposeKind::adjoint});
  c.add_gradient(0, hermitian_part(b, triangular_solve(b, l, left, {.left = false})));
}

void differentiate_qr(GradientCall& c) {
  Builder& b = c.b;
  const ValueId a = c.operand(0);
  const auto mode = static_cast<QrKind>(c.node.integer(AttrKey::mode));
  const Dim m = b.size(a, -2), n = b.size(a, -1);
  const bool is_static = m.is_const() && n.is_const();
  if (mode == QrKind::reflectors) c.refuse("PyTorch has no gradient of reflectors");
  if (!is_static) c.refuse("whether there are more rows than columns must be known");
  if (mode == QrKind::complete && m.value() > n.value()) {
    c.refuse("a complete QR of more rows than columns is not unique");
  }
  ValueId q = kNoValue;
  if (mode == QrKind::r) {
    q = b.add_all(Op::qr, {a}, {attr(AttrKey::mode, Dim(static_cast<int>(QrKind::reduced)))})[0];
  } else {
    q = c.result(0);
  }
  const ValueId r = c.result(1), gr = c.grad(1);
  ValueId gq = mode == QrKind::r ? kNoValue : c.grad(0);
  if (m.value() >= n.value()) return c.add_gradient(0, qr_gradient(b, q, r, gq, gr));
  // A = [X Y], R = [U V]: V = Q^H Y adds to the gradient of Q.
  const Dim remaining = b.pool().sub(n, m);
  ValueId gu = kNoValue, gy = b.full(append_sizes(batch_of(b, a), {m, remaining}), 0, b.dtype(a));
  if (gr != kNoValue) {
    gu = b.slice(gr, -1, 0, m);
    const ValueId gv = b.slice(gr, -1, m, remaining);
    gy = times(b, q, gv);
    gq = add_optional(b, gq, times(b, b.slice(a, -1, m, remaining), hermitian(b, gv)));
  }
  c.add_gradient(0, b.concat({qr_gradient(b, q, b.slice(r, -1, 0, m), gq, gu), gy}, -1));
}

/// Let k = min(m, n), L = [L1; L2], U = [U1 U2]: L2 = A2 U1^-1 and U2 = L1^-1 A2, rows in the order of L.
void differentiate_lu_factor(GradientCall& c) {
  Builder& b = c.b;
  if (c.grad(0) == kNoValue) return;
  const ValueId lu = c.result(0), g = c.grad(0);
  const DType t = b.dtype(lu);
  const Dim m = b.size(lu, -2), n = b.size(lu, -1), k = b.pool().min(m, n);
  const ValueId square = b.slice(b.slice(lu, -2, 0, k), -1, 0, k), g1 = b.slice(b.slice(g, -2, 0, k), -1, 0, k);
  const ValueId identity_matrix = identity(b, k, t);
  const ValueId l1 = b.expr("l + o", {{"l", triangle(b, square, true, -1)}, {"o", identity_matrix}}, t);
  const ValueId u1 = replace_diagonal_zeros(b, triangle(b, square, false));
  ValueId lower = times(b, hermitian(b, l1), triangle(b, g1, true, -1));
  ValueId upper = times(b, triangle(b, g1, false), hermitian(b, u1));
  const auto subtract = [&](ValueId minuend, ValueId x) { return b.expr("f - x", {{"f", minuend}, {"x", x}}, t); };
  const Triangle under_l{.upper = false, .left = true, .unit = true, .op = TransposeKind::adjoint};
  const Triangle behind_u{.upper = true, .left = false, .op = TransposeKind::adjoint};
  ValueId rows_below = kNoValue, columns_beside = kNoValue;
  if (!b.pool().proved_equal(m, k)) {
    const Dim remaining = b.pool().sub(m, k);
    const ValueId l2 = b.slice(lu, -2, k, remaining), g2 = b.slice(g, -2, k, remaining);
    upper = subtract(upper, times(b, hermitian(b, l2), g2));
    rows_below = triangular_solve(b, u1, g2, behind_u);
  }
  if (!b.pool().proved_equal(n, k)) {
    const Dim remaining = b.pool().sub(n, k);
    const ValueId u2 = b.slice(lu, -1, k, remaining), g2 = b.slice(g, -1, k, remaining);
    lower = subtract(lower, times(b, g2, hermitian(b, u2)));
    columns_beside = triangular_solve(b, l1, g2, under_l);
  }
  const ValueId phi = b.expr("l + u", {{"l", triangle(b, lower, true, -1)}, {"u", triangle(b, upper, false)}}, t);
  ValueId ga = triangular_solve(b, u1, triangular_solve(b, l1, phi, under_l), behind_u);
  if (rows_below != kNoValue) ga = b.concat({ga, rows_below}, -2);
  if (columns_beside != kNoValue) ga = b.concat({ga, columns_beside}, -1);
  c.add_gradient(0, permuted(b, c.result(1), ga, TransposeKind::transpose));
}

/// Rule for X of op(A) X = B, or X op(A) = B: B gets the solution with op(A)^H; the gradient of op(A) goes on to the
/// factors.
void differentiate_lu_solve(GradientCall& c) {
  Builder& b = c.b;
  const ValueId lu = c.operand(0), pivots = c.operand(1), x = c.result(0), g = c.grad(0);
  const DType t = b.dtype(lu);
  const bool left = c.flag(AttrKey::left);
  const auto op = static_cast<TransposeKind>(c.node.integer(AttrKey::transpose));
  ValueId gb = kNoValue;
  if (op == TransposeKind::transpose && is_complex(t)) {
    gb = c.conj(lu_solve(b, lu, pivots, c.conj(g), left, TransposeKind::none));
  } else {
    gb = lu_solve(b, lu, pivots, g, left, op == TransposeKind::none ? TransposeKind::adjoint : TransposeKind::none);
  }
  c.add_gradient(2, gb);
  if (!c.needs_gradient(0)) return;
  ValueId ga = left ? times(b, gb, hermitian(b, x)) : times(b, hermitian(b, x), gb);
  if (op == TransposeKind::adjoint) ga = hermitian(b, ga);
  if (op == TransposeKind::transpose) ga = transposed(b, ga);
  // Sums over the batches of right hand sides with a common matrix.
  const Dims sizes = b.shape(lu);
  std::vector<std::int64_t> shared;
  const std::size_t extra_axes = b.shape(ga).size() - sizes.size();
  for (std::size_t i = 0; i < b.shape(ga).size(); ++i) {
    if (i < extra_axes || (sizes[i - extra_axes].is(1) && !b.shape(ga)[i].is(1)))
      shared.push_back(static_cast<std::int64_t>(i));
  }
  if (!shared.empty()) ga = b.reshape(b.reduce(ga, "sum", shared, true, t), sizes);
  const ValueId rows = permuted(b, pivots, ga, TransposeKind::none);
  const ValueId identity_matrix = identity(b, b.size(lu, -1), t);
  const ValueId l = b.expr("l + o", {{"l", triangle(b, lu, true, -1)}, {"o", identity_matrix}}, t);
  const ValueId upper = times(b, hermitian(b, l), rows);
  const ValueId lower = times(b, rows, hermitian(b, triangle(b, lu, false)));
  c.add_gradient(0, b.expr("-(l + u)", {{"l", triangle(b, lower, true, -1)}, {"u", triangle(b, upper, false)}}, t));
}

}  // namespace tern
