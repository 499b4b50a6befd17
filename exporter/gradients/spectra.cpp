// Rules of eigenvalues, singular values and the matrix exponential. Complex vectors are determined up to a factor of
// magnitude 1: as in PyTorch, gradients hold for losses independent of the factor.
#include "exporter/gradients/matrices.h"
#include "exporter/gradients/rules.h"

namespace tern {
namespace {

/// x / (v_j - v_i) off the diagonal, 0 on the diagonal.
ValueId divided(Builder& b, ValueId x, ValueId differences_of_v) {
  const ValueId diagonal_mask = identity(b, b.size(x, -1), DType::boolean);
  return b.expr("o ? 0 : x / e", {{"o", diagonal_mask}, {"x", x}, {"e", differences_of_v}}, b.dtype(x));
}
ValueId add_on_diagonal(Builder& b, ValueId x, ValueId v) {
  const ValueId diagonal_mask = identity(b, b.size(x, -1), DType::boolean);
  return b.expr("o ? v : x", {{"o", diagonal_mask}, {"v", b.unsqueeze(v, -2)}, {"x", x}}, b.dtype(x));
}
ValueId skew(Builder& b, ValueId x) {
  return b.expr("x - y", {{"x", x}, {"y", hermitian(b, x)}}, b.dtype(x));
}
ValueId solved(Builder& b, ValueId a, ValueId rhs) {
  const std::vector<ValueId> f = lu_factor(b, a, false);
  return lu_solve(b, f[0], f[1], rhs, true, TransposeKind::none);
}

}  // namespace

/// V (diag(g_values) + (skew part of V^H g_V) / (w_j - w_i)) V^H
void differentiate_eigh(GradientCall& c) {
  Builder& b = c.b;
  const ValueId values = c.result(0), v = c.result(1);
  const DType t = b.dtype(v);
  const ValueId vh = hermitian(b, v);
  if (c.grad(1) == kNoValue) return c.add_gradient(0, times(b, scale_columns(b, v, c.grad(0)), vh));
  const ValueId half_skew = b.expr("s * 0.5", {{"s", skew(b, times(b, vh, c.grad(1)))}}, t);
  ValueId inner = divided(b, half_skew, differences(b, values));
  if (c.grad(0) != kNoValue) inner = add_on_diagonal(b, inner, c.grad(0));
  c.add_gradient(0, times(b, times(b, v, inner), vh));
}

/// V^-H (diag(g_values) + (V^H g_V - V^H V diag(re(V^H g_V))) / conj(w_j - w_i)) V^H: columns of V have length 1.
void differentiate_eig(GradientCall& c) {
  Builder& b = c.b;
  const ValueId values = c.result(0), v = c.result(1);
  const DType t = b.dtype(v);
  const ValueId vh = hermitian(b, v);
  ValueId inner = kNoValue;
  if (c.grad(1) != kNoValue) {
    const ValueId vg = times(b, vh, c.grad(1));
    const ValueId along = b.expr("real(d)", {{"d", matrix_diagonal(b, vg)}}, t, t);
    const ValueId remaining = b.expr("x - y", {{"x", vg}, {"y", scale_columns(b, times(b, vh, v), along)}}, t);
    inner = divided(b, remaining, c.conj(differences(b, values)));
  } else {
    inner = b.full(b.shape(v), 0, t);
  }
  if (c.grad(0) != kNoValue) inner = add_on_diagonal(b, inner, c.grad(0));
  c.add_gradient(0, solved(b, vh, times(b, inner, vh)));
}

/// U (skew(U^H g_U) / E S + S skew(V^H g_V) / E + diag(g_S)) V^H with E_ij = s_j^2 - s_i^2, plus the components of g_U
/// and g_V outside the spaces of U and V. Vectors of null spaces (`full`) get nothing, as in PyTorch.
void differentiate_svd(GradientCall& c) {
  Builder& b = c.b;
  const ValueId a = c.operand(0), s = c.result(1);
  const DType t = b.dtype(a), real = b.dtype(s);
  const Dim m = b.size(a, -2), n = b.size(a, -1), k = b.size(s, -1);
  ValueId u = b.slice(c.result(0), -1, 0, k), vh = b.slice(c.result(2), -2, 0, k);
  const ValueId gs = c.grad(1);
  if (c.grad(0) == kNoValue && c.grad(2) == kNoValue) return c.add_gradient(0, times(b, scale_columns(b, u, gs), vh));
  const ValueId gu = c.grad(0) == kNoValue ? kNoValue : b.slice(c.grad(0), -1, 0, k);
  const ValueId gvh = c.grad(2) == kNoValue ? kNoValue : b.slice(c.grad(2), -2, 0, k);
  const ValueId e = differences(b, b.expr("s * s", {{"s", s}}, real));
  ValueId inner = kNoValue, outside = kNoValue;
  if (gu != kNoValue) {
    const ValueId ug = times(b, hermitian(b, u), gu);
    inner = scale_columns(b, divided(b, skew(b, ug), e), s);
    if (is_complex(t) && gvh != kNoValue) {
      const ValueId phase_part = b.expr("d / s", {{"d", imaginary_diagonal(b, ug)}, {"s", b.unsqueeze(s, -2)}}, t);
      inner = add_optional(b, inner, phase_part);
    }
    if (!b.pool().proved_equal(m, k)) {
      const ValueId remaining =
          b.expr("(g - p) / s", {{"g", gu}, {"p", times(b, u, ug)}, {"s", b.unsqueeze(s, -2)}}, t);
      outside = times(b, remaining, vh);
    }
  }
  if (gvh != kNoValue) {
    const ValueId gv = hermitian(b, gvh), vg = times(b, vh, gv);
    inner = add_optional(b, inner, scale_rows(b, divided(b, skew(b, vg), e), s));
    if (!b.pool().proved_equal(n, k)) {
      const ValueId remaining =
          b.expr("(g - p) / s", {{"g", gvh}, {"p", times(b, hermitian(b, vg), vh)}, {"s", b.unsqueeze(s, -1)}}, t);
      outside = add_optional(b, outside, times(b, u, remaining));
    }
  }
  if (gs != kNoValue) inner = add_optional(b, inner, add_on_diagonal(b, b.full(b.shape(inner), 0, t), gs));
  c.add_gradient(0, add_optional(b, times(b, times(b, u, inner), vh), outside));
}

/// The block of exp([A^H G; 0 A^H]) above the diagonal.
void differentiate_matrix_exp(GradientCall& c) {
  Builder& b = c.b;
  const ValueId ah = hermitian(b, c.operand(0)), g = c.grad(0);
  const Dim n = b.size(ah, -1);
  const ValueId zeros = b.full(b.shape(ah), 0, b.dtype(ah));
  const ValueId blocks = b.concat({b.concat({ah, g}, -1), b.concat({zeros, ah}, -1)}, -2);
  const ValueId y = b.add(Op::matrix_exp, {blocks});
  c.add_gradient(0, b.slice(b.slice(y, -2, 0, n), -1, n, n));
}

}  // namespace tern
