// Lowerings of factorizations: cholesky, LU, QR and Householder reflections, LDL.
#include "exporter/lower/contraction.h"
#include "exporter/lower/linalg.h"

namespace tern {
namespace {

using Values = std::vector<ValueId>;

// Cholesky

Values cholesky_op(Builder& b, const Call& c, bool check) {
  return b.add_all(Op::cholesky, {c.tensor("self")},
                   {attr(AttrKey::upper, Dim(c.flag("upper"))), attr(AttrKey::check, Dim(check))});
}
Values cholesky(Builder& b, const Call& c) {
  return {cholesky_op(b, c, true)[0]};
}
Values cholesky_ex(Builder& b, const Call& c) {
  return cholesky_op(b, c, c.flag_or("check_errors", false));
}

/// X with A X = rhs, A = L L^H or U^H U.
ValueId solve_by_cholesky(Builder& b, ValueId factor, ValueId rhs, bool upper) {
  const ValueId y =
      triangular_solve(b, factor, rhs, {.upper = upper, .op = upper ? TransposeKind::adjoint : TransposeKind::none});
  return triangular_solve(b, factor, y, {.upper = upper, .op = upper ? TransposeKind::none : TransposeKind::adjoint});
}
Values cholesky_solve(Builder& b, const Call& c) {
  return {solve_by_cholesky(b, c.tensor("input2"), c.tensor("self"), c.flag("upper"))};
}
Values cholesky_solve_helper(Builder& b, const Call& c) {
  return {solve_by_cholesky(b, c.tensor("A"), c.tensor("self"), c.flag("upper"))};
}
Values cholesky_inverse(Builder& b, const Call& c) {
  const ValueId factor = c.tensor("self");
  return {solve_by_cholesky(b, factor, identity(b, b.size(factor, -1), b.dtype(factor)), c.flag("upper"))};
}

// LU

void require_pivots(const Call& c) {
  if (!c.flag_or("pivot", true)) c.unsupported("an LU factorization without pivoting is not supported");
}

Values lu_factor_ex(Builder& b, const Call& c) {
  require_pivots(c);
  return lu_factor(b, c.tensor("A"), c.flag("check_errors"));
}
Values lu_with_info(Builder& b, const Call& c) {
  require_pivots(c);
  return lu_factor(b, c.tensor("self"), c.flag("check_errors"));
}
Values linalg_lu_factor(Builder& b, const Call& c) {
  require_pivots(c);
  const Values f = lu_factor(b, c.tensor("A"), true);
  return {f[0], f[1]};
}

/// Permutation matrix P of A = P L U. The swaps undo themselves in the system P X = 1; its solution is P^T.
ValueId permutation(Builder& b, ValueId lu, ValueId pivots) {
  const DType t = b.dtype(lu);
  const Dim m = b.size(lu, -2), k = b.size(pivots, -1);
  const ValueId identity_matrix = identity(b, m, t);
  if (!b.pool().proved_equal(m, k)) {  // rows beyond the pivots stay
    const Dim remaining = b.pool().sub(m, k);
    ValueId unpivoted = b.slice(b.iota(m, DType::i32, 1), 0, k, remaining);
    Dims shape(b.shape(pivots).begin(), b.shape(pivots).end() - 1);
    shape.push_back(remaining);
    pivots = b.concat({pivots, b.expand(unpivoted, shape)}, -1);
  }
  const ValueId batched_identity = b.expand(identity_matrix, append_sizes(batch_of(b, lu), {m, m}));
  return transposed(b, lu_solve(b, batched_identity, pivots, identity_matrix, true, TransposeKind::none));
}
/// Unit lower triangular [.., m, k], and upper triangular [.., k, n].
std::pair<ValueId, ValueId> unpack(Builder& b, ValueId lu) {
  const Dim m = b.size(lu, -2), n = b.size(lu, -1), k = b.pool().min(m, n);
  const ValueId strict_lower = triangle(b, b.slice(lu, -1, 0, k), true, -1);
  const ValueId column = b.iota(k, DType::i64), row = b.reshape(b.iota(m, DType::i64), {m, 1});
  const ValueId is_diagonal = b.expr("c == r", {{"c", column}, {"r", row}}, DType::i64, DType::boolean);
  const ValueId lower = b.expr("o ? 1 : x", {{"o", is_diagonal}, {"x", strict_lower}}, b.dtype(lu));
  return {lower, triangle(b, b.slice(lu, -2, 0, k), false)};
}

Values lu_unpack(Builder& b, const Call& c) {
  const ValueId lu = c.tensor("LU_data");
  const DType t = b.dtype(lu);
  Values r = {no_result(b, t), no_result(b, t), no_result(b, t)};
  if (c.flag("unpack_pivots")) r[0] = permutation(b, lu, c.tensor("LU_pivots"));
  if (c.flag("unpack_data")) std::tie(r[1], r[2]) = unpack(b, lu);
  return r;
}
Values linalg_lu(Builder& b, const Call& c) {
  require_pivots(c);
  const Values f = lu_factor(b, c.tensor("A"), false);
  const auto [lower, upper] = unpack(b, f[0]);
  return {permutation(b, f[0], f[1]), lower, upper};
}

// QR

Values qr_op(Builder& b, ValueId a, QrKind mode) {
  return b.add_all(Op::qr, {a}, {attr(AttrKey::mode, Dim(static_cast<int>(mode)))});
}
Values linalg_qr(Builder& b, const Call& c) {
  const std::string mode = c.text("mode");
  if (mode != "reduced" && mode != "complete" && mode != "r") c.unsupported("unsupported mode '" + mode + "'");
  return qr_op(b, c.tensor("A"),
               mode == "complete"  ? QrKind::complete
               : mode == "reduced" ? QrKind::reduced
                                   : QrKind::r);
}
Values qr(Builder& b, const Call& c) {
  return qr_op(b, c.tensor("self"), c.flag("some") ? QrKind::reduced : QrKind::complete);
}
Values geqrf(Builder& b, const Call& c) {
  return qr_op(b, c.tensor("self"), QrKind::reflectors);
}

Values householder_product(Builder& b, ValueId v, ValueId tau) {
  return {b.add(Op::householder, {v, tau}, {attr(AttrKey::kind, Dim(static_cast<int>(HouseholderKind::product)))})};
}
Values linalg_householder_product(Builder& b, const Call& c) {
  return householder_product(b, c.tensor("input"), c.tensor("tau"));
}
Values orgqr(Builder& b, const Call& c) {
  return householder_product(b, c.tensor("self"), c.tensor("input2"));
}
Values ormqr(Builder& b, const Call& c) {
  const auto op = c.flag("transpose") ? TransposeKind::adjoint : TransposeKind::none;
  return {b.add(Op::householder, {c.tensor("self"), c.tensor("input2"), c.tensor("input3")},
                {attr(AttrKey::kind, Dim(static_cast<int>(HouseholderKind::multiply))),
                 attr(AttrKey::left, Dim(c.flag("left"))), attr(AttrKey::transpose, Dim(static_cast<int>(op)))})};
}

// LDL

Values ldl_op(Builder& b, const Call& c, bool check) {
  return b.add_all(Op::ldl_factor, {c.tensor("self")},
                   {attr(AttrKey::hermitian, Dim(c.flag("hermitian"))), attr(AttrKey::check, Dim(check))});
}
Values ldl_factor(Builder& b, const Call& c) {
  const Values f = ldl_op(b, c, true);
  return {f[0], f[1]};
}
Values ldl_factor_ex(Builder& b, const Call& c) {
  return ldl_op(b, c, c.flag("check_errors"));
}
Values ldl_solve(Builder& b, const Call& c) {
  return {b.add(Op::ldl_solve, {c.tensor("LD"), c.tensor("pivots"), c.tensor("B")},
                {attr(AttrKey::hermitian, Dim(c.flag("hermitian")))})};
}

constexpr Lowering kLinalgFactorLowerings[] = {
    {"aten.cholesky.default", cholesky},
    {"aten.linalg_cholesky.default", cholesky},
    {"aten.linalg_cholesky_ex.default", cholesky_ex},
    {"aten.cholesky_solve.default", cholesky_solve},
    {"aten._cholesky_solve_helper.default", cholesky_solve_helper},
    {"aten.cholesky_inverse.default", cholesky_inverse},
    {"aten.linalg_lu_factor_ex.default", lu_factor_ex},
    {"aten._lu_with_info.default", lu_with_info},
    {"aten.linalg_lu_factor.default", linalg_lu_factor},
    {"aten.lu_unpack.default", lu_unpack},
    {"aten.linalg_lu.default", linalg_lu},
    {"aten.linalg_qr.default", linalg_qr},
    {"aten.qr.default", qr},
    {"aten.geqrf.default", geqrf},
    {"aten.linalg_householder_product.default", linalg_householder_product},
    {"aten.orgqr.default", orgqr},
    {"aten.ormqr.default", ormqr},
    {"aten.linalg_ldl_factor.default", ldl_factor},
    {"aten.linalg_ldl_factor_ex.default", ldl_factor_ex},
    {"aten.linalg_ldl_solve.default", ldl_solve},
};

}  // namespace

std::span<const Lowering> factor_lowerings() {
  return kLinalgFactorLowerings;
}

}  // namespace tern
