// Lowerings of eigenvalues and singular values, and of their uses: pseudoinverse, rank, condition.
#include <cmath>
#include <limits>

#include "exporter/gradients/detach.h"
#include "exporter/lower/contraction.h"
#include "exporter/lower/linalg.h"
#include "exporter/lower/reduction.h"

namespace tern {
namespace {

using Values = std::vector<ValueId>;

bool is_upper(const Call& c) {
  const std::string text = c.text("UPLO");
  if (text != "L" && text != "l" && text != "U" && text != "u") c.unsupported("UPLO '" + text + "'");
  return text == "U" || text == "u";
}

Values linalg_eigh(Builder& b, const Call& c) {
  return eigh(b, c.tensor("self"), is_upper(c));
}
Values linalg_eigh_parts(Builder& b, const Call& c) {
  Values r = eigh(b, c.tensor("A"), is_upper(c));
  if (!c.flag("compute_v")) r[1] = no_result(b, b.dtype(r[1]));
  return r;
}
Values linalg_eigvalsh(Builder& b, const Call& c) {
  return {eigh(b, c.tensor("self"), is_upper(c))[0]};
}
Values linalg_eig(Builder& b, const Call& c) {
  return b.add_all(Op::eig, {c.tensor("self")});
}
Values linalg_eigvals(Builder& b, const Call& c) {
  return {b.add(Op::eig, {c.tensor("self")})};
}

Values linalg_svd(Builder& b, const Call& c) {
  return svd(b, c.tensor("A"), c.flag("full_matrices"));
}
Values linalg_svd_parts(Builder& b, const Call& c) {
  Values r = svd(b, c.tensor("A"), c.flag("full_matrices"));
  if (!c.flag("compute_uv")) r[0] = r[2] = no_result(b, b.dtype(r[0]));
  return r;
}
Values linalg_svdvals(Builder& b, const Call& c) {
  return {singular_values(b, c.tensor("A"))};
}
/// The older form returns V, not its adjoint, and zeros if no vectors are requested.
Values svd_old(Builder& b, const Call& c) {
  const ValueId a = c.tensor("self");
  if (c.flag("compute_uv")) {
    const Values r = svd(b, a, !c.flag("some"));
    return {r[0], r[1], adjoint(b, r[2])};
  }
  const Dim m = b.size(a, -2), n = b.size(a, -1);
  return {b.full(append_sizes(batch_of(b, a), {m, m}), 0, b.dtype(a)), singular_values(b, a),
          b.full(append_sizes(batch_of(b, a), {n, n}), 0, b.dtype(a))};
}

/// A = U H with orthonormal U and hermitian H: of A = W S V^H, U is W V^H and H is V S V^H.
Values linalg_polar(Builder& b, const Call& c) {
  const ValueId a = c.tensor("A");
  const Values r = svd(b, a, false);
  const ValueId scaled = b.expr("v * s", {{"v", adjoint(b, r[2])}, {"s", b.unsqueeze(r[1], -2)}}, b.dtype(a));
  return {product(b, r[0], r[2]), product(b, scaled, r[2])};
}

/// Square root of a positive semidefinite hermitian matrix: negative eigenvalues are rounding errors.
Values linalg_matrix_sqrth(Builder& b, const Call& c) {
  const ValueId a = c.tensor("self");
  const Values r = eigh(b, a, false);
  const ValueId roots = b.expr("sqrt(max(w, 0))", {{"w", b.unsqueeze(r[0], -2)}}, b.dtype(r[0]));
  return {product(b, b.expr("v * s", {{"v", r[1]}, {"s", roots}}, b.dtype(a)), adjoint(b, r[1]))};
}

// Tolerances: singular values up to max(atol, rtol * the largest) count as zero.

/// A number or tensor with an axis for the singular values.
ExprArg tolerance(Builder& b, const Call& c, std::string_view name, ArgumentName argument) {
  if (!c.is_tensor(argument)) return {name, c.number(argument)};
  const ValueId t = c.tensor(argument);
  return {name, b.unsqueeze(t, -1)};
}

struct Tolerances {
  ExprArg absolute, relative;
};

Tolerances tolerances(Builder& b, const Call& c, ValueId a) {
  const Dim n = b.pool().max(b.size(a, -1), b.size(a, -2));
  const double epsilon = machine_epsilon(b.dtype(a));
  ExprArg standard("r", n.is_const() ? epsilon * static_cast<double>(n.value()) : 0.0);
  if (!n.is_const()) {
    standard.value = b.expr("n * e", {{"n", b.from_dim(n)}, {"e", epsilon}}, real_type(b.dtype(a)));
  }
  const bool has_absolute = c.has_argument("atol");
  Tolerances t{has_absolute ? tolerance(b, c, "t", "atol") : ExprArg("t", 0.0),
               c.has_argument("rtol") ? tolerance(b, c, "r", "rtol") : standard};
  if (c.has_argument("rtol") || !has_absolute) return t;
  if (t.absolute.value == kNoValue) {
    if (t.absolute.number.real() > 0) t.relative = ExprArg("r", 0.0);
  } else {  // a positive absolute tolerance disables the default relative tolerance
    t.relative = ExprArg("r", b.expr("t > 0 ? 0 : r", {{"t", t.absolute.value}, standard}, real_type(b.dtype(a))));
  }
  return t;
}

/// max(absolute, relative * largest |value| along the last axis), axis retained.
ValueId threshold(Builder& b, ValueId magnitudes, const Tolerances& t) {
  const DType real = b.dtype(magnitudes);
  const ValueId largest = b.reduce(magnitudes, "max", {-1}, true, real);
  return b.expr("max(t, r * s)", {t.absolute, t.relative, {"s", largest}}, real);
}

/// Attaches the gradient of the pseudoinverse P of A (Golub and Pereyra, 1973),
///   dP = -P dA P + P P^H dA^H (I - A P) + (I - P A) dA^H P^H P,
/// replacing the gradient of the factors, infinite for equal singular values.
ValueId attach_pinv_gradient(Builder& b, ValueId a, ValueId pseudoinverse) {
  const ValueId p = detached(b, pseudoinverse), fixed = detached(b, a);
  const DType t = b.dtype(a);
  const ValueId ph = adjoint(b, p), ah = adjoint(b, a);
  const ValueId right = product(b, product(b, p, ph), ah), left = product(b, ah, product(b, ph, p));
  const ValueId sum = b.expr("r - ra + l - al - pap",
                             {{"r", right},
                              {"ra", product(b, product(b, right, fixed), p)},
                              {"l", left},
                              {"al", product(b, p, product(b, fixed, left))},
                              {"pap", product(b, product(b, p, a), p)}},
                             t);
  return written_detached(b, sum, pseudoinverse);
}

ValueId pseudoinverse(Builder& b, ValueId a, bool hermitian, const Tolerances& t) {
  const Dim m = b.size(a, -2), n = b.size(a, -1);
  if (is_empty(b, a)) return b.full(append_sizes(batch_of(b, a), {n, m}), 0, b.dtype(a));
  ValueId left, values, right;
  if (hermitian) {
    const Values r = eigh(b, a, false);
    left = r[1];
    values = r[0];
    right = adjoint(b, r[1]);
  } else {
    const Values r = svd(b, a, false);
    left = adjoint(b, r[2]);
    values = r[1];
    right = adjoint(b, r[0]);
  }
  const DType real = b.dtype(values);
  const ValueId magnitudes = hermitian ? b.expr("abs(s)", {{"s", values}}, real) : values;
  const ValueId limit = threshold(b, magnitudes, t);
  const ValueId inverted = b.expr("m > t ? 1 / s : 0", {{"m", magnitudes}, {"t", limit}, {"s", values}}, real);
  const ValueId scaled = b.expr("v * s", {{"v", left}, {"s", b.unsqueeze(inverted, -2)}}, b.dtype(a));
  return attach_pinv_gradient(b, a, product(b, scaled, right));
}

Values linalg_pinv(Builder& b, const Call& c) {
  const ValueId a = c.tensor("self");
  return {pseudoinverse(b, a, c.flag("hermitian"), tolerances(b, c, a))};
}
Values linalg_pinv_rcond(Builder& b, const Call& c) {
  return {pseudoinverse(b, c.tensor("self"), c.flag_or("hermitian", false),
                        {ExprArg("t", 0.0), tolerance(b, c, "r", "rcond")})};
}
Values pinverse(Builder& b, const Call& c) {
  return {pseudoinverse(b, c.tensor("self"), false, {ExprArg("t", 0.0), ExprArg("r", c.number("rcond"))})};
}

ValueId rank_of(Builder& b, ValueId a, bool hermitian, const Tolerances& t) {
  if (is_empty(b, a)) return b.full(batch_of(b, a), 0, DType::i64);
  ValueId values = hermitian ? eigh(b, a, false)[0] : singular_values(b, a);
  if (hermitian) values = b.expr("abs(s)", {{"s", values}}, b.dtype(values));
  const ValueId limit = threshold(b, values, t);
  const ValueId counts = b.expr("s > t", {{"s", values}, {"t", limit}}, b.dtype(values), DType::boolean);
  return b.reduce(counts, "sum", {-1}, false, DType::i64);
}
Values linalg_matrix_rank(Builder& b, const Call& c) {
  const ValueId a = c.tensor("self");
  return {rank_of(b, a, c.flag("hermitian"), tolerances(b, c, a))};
}
Values linalg_matrix_rank_input(Builder& b, const Call& c) {
  const ValueId a = c.tensor("input");
  return {rank_of(b, a, c.flag("hermitian"), tolerances(b, c, a))};
}
Values linalg_matrix_rank_tol(Builder& b, const Call& c) {
  return {rank_of(b, c.tensor("self"), c.flag("hermitian"), {tolerance(b, c, "t", "tol"), ExprArg("r", 0.0)})};
}
Values linalg_matrix_rank_tol_input(Builder& b, const Call& c) {
  return {rank_of(b, c.tensor("input"), c.flag("hermitian"), {tolerance(b, c, "t", "tol"), ExprArg("r", 0.0)})};
}

/// norm(A) norm(A^-1); a singular matrix has an infinite inverse.
template <class Ord>
ValueId condition(Builder& b, const Call& c, ValueId a, Ord ord) {
  const DType result = c.result_dtype();
  const auto [raw, info] = inverse(b, a, false);
  const ValueId singular =
      b.expr("i > 0", {{"i", b.reshape(info, append_sizes(b.shape(info), {1, 1}))}}, DType::i64, DType::boolean);
  const ValueId inverted = b.expr("s ? inf : x", {{"s", singular}, {"x", raw}}, b.dtype(a));
  const ValueId n = matrix_norm(b, c, a, ord, {-2, -1}, false, result);
  const ValueId m = matrix_norm(b, c, inverted, ord, {-2, -1}, false, result);
  return b.expr("p = n * m; isnan(p) ? inf : p", {{"n", n}, {"m", m}}, result);
}

Values linalg_cond(Builder& b, const Call& c) {
  const ValueId a = c.tensor("self");
  const DType result = c.result_dtype();
  if (is_empty(b, a)) return {b.full(batch_of(b, a), 0, result)};
  const double ord = c.number_or("p", 2);
  if (std::fabs(ord) != 2) return {condition(b, c, a, ord)};
  const ValueId s = singular_values(b, a);
  const ValueId largest = b.reduce(s, "max", {-1}, false, result), smallest = b.reduce(s, "min", {-1}, false, result);
  return {b.expr(ord > 0 ? "l / s" : "s / l", {{"l", largest}, {"s", smallest}}, result)};
}
Values linalg_cond_text(Builder& b, const Call& c) {
  const ValueId a = c.tensor("self");
  const DType result = c.result_dtype();
  if (is_empty(b, a)) return {b.full(batch_of(b, a), 0, result)};
  const std::string ord = c.text("p");
  if (ord != "nuc") return {condition(b, c, a, std::string_view(ord))};
  const ValueId s = singular_values(b, a);
  const ValueId sum = b.reduce(s, "sum", {-1}, false, result);
  const ValueId inverted = b.reduce(b.expr("1 / s", {{"s", s}}, result), "sum", {-1}, false, result);
  return {b.expr("x * y", {{"x", sum}, {"y", inverted}}, result)};
}

constexpr Lowering kLinalgSpectralLowerings[] = {
    {"aten.linalg_eigh.default", linalg_eigh},
    {"aten._linalg_eigh.default", linalg_eigh_parts},
    {"aten.linalg_eigvalsh.default", linalg_eigvalsh},
    {"aten.linalg_eig.default", linalg_eig},
    {"aten.linalg_eigvals.default", linalg_eigvals},
    {"aten._linalg_eigvals.default", linalg_eigvals},
    {"aten.linalg_svd.default", linalg_svd},
    {"aten._linalg_svd.default", linalg_svd_parts},
    {"prims.svd.default", linalg_svd},
    {"aten.linalg_svdvals.default", linalg_svdvals},
    {"aten.svd.default", svd_old},
    {"aten.linalg_polar.default", linalg_polar},
    {"aten.linalg_matrix_sqrth.default", linalg_matrix_sqrth},
    {"aten.linalg_pinv.atol_rtol_tensor", linalg_pinv},
    {"aten.linalg_pinv.atol_rtol_float", linalg_pinv},
    {"aten.linalg_pinv.default", linalg_pinv_rcond},
    {"aten.linalg_pinv.rcond_tensor", linalg_pinv_rcond},
    {"aten.pinverse.default", pinverse},
    {"aten.linalg_matrix_rank.atol_rtol_tensor", linalg_matrix_rank_input},
    {"aten.linalg_matrix_rank.atol_rtol_float", linalg_matrix_rank},
    {"aten.linalg_matrix_rank.default", linalg_matrix_rank_tol},
    {"aten.linalg_matrix_rank.tol_tensor", linalg_matrix_rank_tol_input},
    {"aten.linalg_cond.default", linalg_cond},
    {"aten.linalg_cond.p_str", linalg_cond_text},
};

}  // namespace

std::span<const Lowering> spectral_lowerings() {
  return kLinalgSpectralLowerings;
}

}  // namespace tern
