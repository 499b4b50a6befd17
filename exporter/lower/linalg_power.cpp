// Lowerings of determinants, matrix powers and exponentials, Vandermonde matrices and cross products.
#include "exporter/lower/contraction.h"
#include "exporter/lower/linalg.h"
#include "exporter/lower/reduction.h"

namespace tern {
namespace {

using Values = std::vector<ValueId>;

// Determinants: the product of U's diagonal, times -1 for each swap of rows.

/// The factors and, for each matrix, 1 or -1 by the number of swaps.
struct Factored {
  ValueId lu, pivots, diagonal, sign;
};
Factored factored(Builder& b, ValueId a) {
  const Values f = lu_factor(b, a, false);
  const ValueId position = b.iota(b.size(a, -1), DType::i32, 1);
  const ValueId moved = b.expr("p != i", {{"p", f[1]}, {"i", position}}, DType::i64, DType::boolean);
  const ValueId swaps = b.reduce(moved, "sum", {-1}, false, DType::i64);
  return {f[0], f[1], matrix_diagonal(b, f[0]), b.expr("1 - 2 * (n & 1)", {{"n", swaps}}, DType::i64)};
}

ValueId determinant(Builder& b, const Factored& f) {
  const DType t = b.dtype(f.lu);
  const ValueId product = b.reduce(f.diagonal, "prod", {-1}, false, t);
  return b.expr("p * s", {{"p", product}, {"s", b.cast(f.sign, t)}}, t);
}
Values det_of(Builder& b, ValueId a) {
  return {determinant(b, factored(b, a))};
}
Values linalg_det(Builder& b, const Call& c) {
  return det_of(b, c.tensor("A"));
}
Values det(Builder& b, const Call& c) {
  return det_of(b, c.tensor("self"));
}
/// Matrix to factor if the factors are results too.
Factored factored_parts(Builder& b, const Call& c) {
  const ValueId a = c.tensor("A");
  return factored(b, factors_transpose(b, c) ? transposed(b, a) : a);
}
Values linalg_det_parts(Builder& b, const Call& c) {
  const Factored f = factored_parts(b, c);
  return {determinant(b, f), f.lu, f.pivots};
}

/// Returns the determinant as a number of magnitude 1, and the logarithm of its magnitude.
std::pair<ValueId, ValueId> sign_and_log(Builder& b, const Factored& f) {
  const DType t = b.dtype(f.lu), real = real_type(t);
  const ValueId signs = b.expr(is_complex(t) ? "sgn(x)" : "sign(x)", {{"x", f.diagonal}}, t);
  const ValueId sign = b.expr("p * s", {{"p", b.reduce(signs, "prod", {-1}, false, t)}, {"s", b.cast(f.sign, t)}}, t);
  const ValueId logs = b.expr("log(abs(x))", {{"x", f.diagonal}}, t, real);
  return {sign, b.reduce(logs, "sum", {-1}, false, real)};
}
Values slogdet_of(Builder& b, ValueId a) {
  const auto [sign, log] = sign_and_log(b, factored(b, a));
  return {sign, log};
}
Values linalg_slogdet(Builder& b, const Call& c) {
  return slogdet_of(b, c.tensor("A"));
}
Values slogdet(Builder& b, const Call& c) {
  return slogdet_of(b, c.tensor("self"));
}
Values linalg_slogdet_parts(Builder& b, const Call& c) {
  const Factored f = factored_parts(b, c);
  const auto [sign, log] = sign_and_log(b, f);
  return {sign, log, f.lu, f.pivots};
}
Values logdet(Builder& b, const Call& c) {
  const ValueId a = c.tensor("self");
  const DType t = b.dtype(a);
  const auto [sign, log] = sign_and_log(b, factored(b, a));
  return {b.expr(is_complex(t) ? "log(s) + l" : "s == -1 ? nan : l", {{"s", sign}, {"l", log}}, t)};
}

// Powers

Values matrix_power(Builder& b, const Call& c) {
  ValueId x = c.tensor("self");
  std::int64_t n = c.integer("n");
  const DType t = b.dtype(x);
  if (n == 0) return {b.expand(identity(b, b.size(x, -1), t), b.shape(x))};
  if (n < 0) x = inverse(b, x, true).first;
  auto k = n < 0 ? 0 - static_cast<std::uint64_t>(n) : static_cast<std::uint64_t>(n);
  if (k == 3) return {product(b, product(b, x, x), x)};
  ValueId result = kNoValue;
  for (;; x = product(b, x, x)) {
    if (k & 1) result = result == kNoValue ? x : product(b, result, x);
    k >>= 1;
    if (k == 0) return {result};
  }
}

Values matrix_exp(Builder& b, const Call& c) {
  return {b.add(Op::matrix_exp, {c.tensor("self")})};
}

/// Rows of powers from x^0 on.
ValueId powers(Builder& b, const Call& c, ValueId x, Dim n) {
  const DType t = c.result_dtype();
  x = b.cast(x, t);
  Dims leading_shape = b.shape(x), remaining = b.shape(x);
  leading_shape.push_back(1);
  remaining.push_back(b.pool().sub(n, 1));
  const ValueId factors = b.expand(b.unsqueeze(x, -1), remaining);
  return b.concat({b.full(leading_shape, 1, t), scan_along(b, factors, ScanKind::cumprod, -1, t)}, -1);
}
Values linalg_vander(Builder& b, const Call& c) {
  ValueId x = c.tensor("x");
  if (b.rank(x) == 0) x = b.unsqueeze(x, 0);
  return {powers(b, c, x, c.has_argument("N") ? c.dim("N") : b.size(x, -1))};
}
Values vander(Builder& b, const Call& c) {
  const ValueId x = c.tensor("x");
  const Dim n = c.has_argument("N") ? c.dim("N") : b.size(x, -1);
  if (n.is(0)) return {b.full({b.size(x, 0), 0}, 0, c.result_dtype())};
  const ValueId p = powers(b, c, x, n);
  return {c.flag("increasing") ? p : b.flip(p, {-1})};
}

// Cross products

ValueId cross_along(Builder& b, const Call& c, ValueId x, ValueId y, std::int64_t axis) {
  const DType t = c.result_dtype();
  const auto cofactor = [&](int i, int j) {
    return b.expr("a * d - e * f",
                  {{"a", b.slice(x, axis, i, 1)},
                   {"d", b.slice(y, axis, j, 1)},
                   {"e", b.slice(x, axis, j, 1)},
                   {"f", b.slice(y, axis, i, 1)}},
                  t);
  };
  return b.concat({cofactor(1, 2), cofactor(2, 0), cofactor(0, 1)}, axis);
}
Values linalg_cross(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self"), y = c.tensor("other");
  std::int64_t axis = c.integer("dim");
  const int rank = std::max(b.rank(x), b.rank(y));
  if (axis >= 0) axis -= rank;
  return {cross_along(b, c, x, y, axis)};
}
/// The default axis is the first of size 3.
Values cross(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self"), y = c.tensor("other");
  const int rank = b.rank(x);
  if (c.has_argument("dim")) return {cross_along(b, c, x, y, b.normal_axis(x, c.integer("dim")) - rank)};
  for (int i = 0; i < rank; ++i) {
    if (b.size(x, i).is(3)) return {cross_along(b, c, x, y, i - rank)};
  }
  c.unsupported("the tensor has no axis of size 3");
}

constexpr Lowering kLinalgPowerLowerings[] = {
    {"aten.linalg_det.default", linalg_det},
    {"aten.det.default", det},
    {"aten._linalg_det.default", linalg_det_parts},
    {"aten.linalg_slogdet.default", linalg_slogdet},
    {"aten.slogdet.default", slogdet},
    {"aten._linalg_slogdet.default", linalg_slogdet_parts},
    {"aten.logdet.default", logdet},
    {"aten.linalg_matrix_power.default", matrix_power},
    {"aten.matrix_power.default", matrix_power},
    {"aten.matrix_exp.default", matrix_exp},
    {"aten.linalg_matrix_exp.default", matrix_exp},
    {"aten.linalg_vander.default", linalg_vander},
    {"aten.vander.default", vander},
    {"aten.linalg_cross.default", linalg_cross},
    {"aten.cross.default", cross},
};

}  // namespace

std::span<const Lowering> power_lowerings() {
  return kLinalgPowerLowerings;
}

}  // namespace tern
