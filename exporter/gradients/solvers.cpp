// The rules of triangular systems, of systems by LDL, and of least squares.
#include "exporter/gradients/matrices.h"
#include "exporter/gradients/rules.h"

namespace tern {
namespace {

/// Gradient of A from the gradient of its pseudoinverse P (Golub and Pereyra, SIAM J. Numer. Anal. 10, 1973).
ValueId pseudoinverse_gradient(Builder& b, ValueId a, ValueId p, ValueId gp) {
  const DType t = b.dtype(a);
  const ValueId ph = hermitian(b, p), gh = hermitian(b, gp);
  const ValueId first = hermitian(b, times(b, p, times(b, gh, p)));
  const ValueId outer = times(b, gh, times(b, p, ph)), inner = times(b, times(b, ph, p), gh);
  const ValueId outside = times(b, a, times(b, p, outer)), inside = times(b, times(b, inner, p), a);
  return b.expr("o - ao + i - ia - f", {{"o", outer}, {"ao", outside}, {"i", inner}, {"ia", inside}, {"f", first}}, t);
}

ValueId pseudoinverse(Builder& b, ValueId a, double epsilon) {
  const std::vector<ValueId> f = svd(b, a, false);
  const DType real = b.dtype(f[1]);
  const ValueId largest = b.reduce(f[1], "max", {-1}, true, real);
  const double limit = epsilon >= 0 ? epsilon : machine_epsilon(real);
  const ValueId inverted = b.expr("s > e * l ? 1 / s : 0", {{"s", f[1]}, {"l", largest}, {"e", limit}}, real);
  return times(b, scale_columns(b, hermitian(b, f[2]), inverted), hermitian(b, f[0]));
}

}  // namespace

void differentiate_triangular_solve(GradientCall& c) {
  Builder& b = c.b;
  const ValueId a = c.operand(0), x = c.result(0), g = c.grad(0);
  const DType t = b.dtype(a);
  const auto op = static_cast<TransposeKind>(c.node.integer(AttrKey::transpose));
  Triangle form{c.flag(AttrKey::upper), c.flag(AttrKey::left), c.flag(AttrKey::unit), TransposeKind::none};
  ValueId gb = kNoValue;
  if (op == TransposeKind::transpose && is_complex(t)) {
    gb = c.conj(triangular_solve(b, a, c.conj(g), form));
  } else {
    if (op == TransposeKind::none) form.op = TransposeKind::adjoint;
    gb = triangular_solve(b, a, g, form);
  }
  c.add_gradient(1, gb);
  if (!c.needs_gradient(0)) return;
  ValueId ga = form.left ? times(b, gb, hermitian(b, x)) : times(b, hermitian(b, x), gb);
  if (op == TransposeKind::adjoint) ga = hermitian(b, ga);
  if (op == TransposeKind::transpose) ga = transposed(b, ga);
  // PyTorch returns both triangles of the gradient, although the ops read one triangle of the factor.
  if (c.operator_name().starts_with("aten.cholesky_")) return c.add_gradient(0, b.expr("-g", {{"g", ga}}, t));
  const std::int64_t skip = form.unit ? (form.upper ? 1 : -1) : 0;
  c.add_gradient(0, b.expr("-g", {{"g", triangle(b, ga, !form.upper, skip)}}, t));
}

/// The factors have no gradient, as in PyTorch. A hermitian A solves with itself, a symmetric A with its conjugate.
void differentiate_ldl_solve(GradientCall& c) {
  Builder& b = c.b;
  if (c.needs_gradient(0)) c.refuse("PyTorch has no gradient of LDL factors");
  const bool is_hermitian = c.flag(AttrKey::hermitian);
  const ValueId g = is_hermitian ? c.grad(0) : c.conj(c.grad(0));
  const ValueId y =
      b.add(Op::ldl_solve, {c.operand(0), c.operand(1), g}, {attr(AttrKey::hermitian, Dim(is_hermitian))});
  c.add_gradient(2, is_hermitian ? y : c.conj(y));
}

void differentiate_lstsq(GradientCall& c) {
  Builder& b = c.b;
  const ValueId a = c.operand(0), rhs = c.operand(1);
  const DType t = b.dtype(a);
  if (c.grad(0) != kNoValue) {
    const ValueId p = pseudoinverse(b, a, c.node.number(AttrKey::epsilon));
    if (c.needs_gradient(0)) c.add_gradient(0, pseudoinverse_gradient(b, a, p, times(b, c.grad(0), hermitian(b, rhs))));
    if (c.needs_gradient(1)) c.add_gradient(1, times(b, hermitian(b, p), c.grad(0)));
  }
  if (c.grad(1) != kNoValue && !b.shape(c.grad(1)).empty() && !b.shape(c.grad(1))[0].is(0)) {
    const ValueId residual = b.expr("y - b", {{"y", times(b, a, c.result(0))}, {"b", rhs}}, t);
    const ValueId residual_gradient = b.expr("2 * r * g", {{"r", residual}, {"g", b.unsqueeze(c.grad(1), -2)}}, t);
    if (c.needs_gradient(0)) c.add_gradient(0, times(b, residual_gradient, hermitian(b, c.result(0))));
    if (c.needs_gradient(1)) c.add_gradient(1, b.expr("-e", {{"e", residual_gradient}}, t));
  }
}

}  // namespace tern
