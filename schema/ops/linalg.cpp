// Factorizations and solvers. Matrices are the last two axes, all axes before are batches. With attribute `check` a
// failed factorization fails the run, else `info` reports it: 0 for success, or LAPACK's number k > 0.
#include "schema/infer/checks.h"
#include "schema/infer/matrices.h"
#include "schema/linalg_kinds.h"
#include "schema/linear.h"
#include "schema/ops/attributes.h"
#include "schema/ops/costs.h"
#include "schema/ops/families.h"
#include "schema/ops/names.h"

namespace tern::ops {
namespace {

/// Requires operand i to be int32 pivots of the matrices of `batch`: [..., n].
void require_pivots(const Inference& c, std::size_t i, const Dims& batch, Dim n) {
  const TensorType& t = c.in(i);
  c.require(t.dtype == DType::i32, "pivots must be int32");
  c.require(t.shape.size() == batch.size() + 1, "pivots must have one axis fewer than the matrices");
  for (std::size_t k = 0; k < batch.size(); ++k)
    c.require_equal(t.shape[k], batch[k], "the batches of matrices and pivots");
  c.require_equal(t.shape.back(), n, "the number of pivots");
}

/// Infers the solution of op(A) X = B, or X op(A) = B without `left`: shaped like B, with broadcast batches.
void infer_solution(Inference& c, const Matrices& a, std::size_t rhs, bool left) {
  const Matrices b = matrices(c, rhs);
  require_same_type(c, 0, rhs);
  c.require_equal(left ? b.rows : b.columns, a.rows, "the sizes of the matrix and of the right hand side");
  c.out(a.dtype, shape_of(c.broadcast(a.batch, b.batch), {b.rows, b.columns}));
}

// A [..., n, n], hermitian positive definite -> L [..., n, n], info int32 [...]. A = L L^H with L lower triangular;
// `upper`: A = L^H L with L upper triangular. Reads only that triangle of A; the other triangle of L is zero.
void cholesky(Inference& c) {
  const Matrices a = square_matrices(c, 0);
  c.out(a.dtype, shape_of(a.batch, {a.rows, a.columns}));
  c.out(DType::i32, a.batch);
}

// A [..., m, n] -> Q, R; k = min(m, n). `mode` (QrKind) reduced: Q [..., m, k], R [..., k, n]. complete: Q [..., m, m],
// R [..., m, n]. r: Q [0], R [..., k, n]. reflectors: R above the vectors of the Householder reflections [..., m, n],
// and their factors tau [..., k], as in LAPACK's geqrf. The diagonal of R has LAPACK's signs.
void qr(Inference& c) {
  const Matrices a = matrices(c, 0);
  const auto mode = static_cast<QrKind>(c.integer(AttrKey::mode));
  const Dim k = c.pool.min(a.rows, a.columns);
  if (mode == QrKind::reflectors) {
    c.out(a.dtype, shape_of(a.batch, {a.rows, a.columns}));
    c.out(a.dtype, shape_of(a.batch, {k}));
    return;
  }
  const Dim q_columns = mode == QrKind::complete ? a.rows : k;
  c.out(a.dtype, mode == QrKind::r ? Dims{0} : shape_of(a.batch, {a.rows, q_columns}));
  c.out(a.dtype, shape_of(a.batch, {q_columns, a.columns}));
}

// Householder reflections H_1 .. H_k: vectors below the diagonal of V, factors tau [..., k], as returned by qr. `kind`
// (HouseholderKind) product: V [..., m, n], k <= n <= m -> the first n columns of H_1 H_2 .. H_k. multiply: V [..., r,
// k], C [..., m, n] -> op(Q) C, or C op(Q) without `left`, with Q = H_1 .. H_k of r x r and op given by `transpose`
// (none or adjoint; transpose equals adjoint for real numbers). The batches are equal.
void householder(Inference& c) {
  const auto kind = static_cast<HouseholderKind>(c.integer(AttrKey::kind));
  const Matrices v = matrices(c, 0);
  require_same_type(c, 0, 1);
  const TensorType& tau = c.in(1);
  c.require(tau.shape.size() == v.batch.size() + 1, "tau must have one axis fewer than the vectors");
  for (std::size_t i = 0; i < v.batch.size(); ++i) c.require_equal(tau.shape[i], v.batch[i], "the batches");
  c.require(difference(c.pool, tau.shape.back(), v.columns).min <= 0, "there are more factors than vectors");
  const Interval rows_beyond_reflections = difference(c.pool, v.rows, tau.shape.back());
  c.require(rows_beyond_reflections.max >= 0, "there are more factors than rows");
  if (kind == HouseholderKind::product) {
    c.require(!c.has(2), "a product of reflections has two operands");
    c.require(difference(c.pool, v.rows, v.columns).max >= 0, "there are more vectors than rows");
    c.out(v.dtype, shape_of(v.batch, {v.rows, v.columns}));
    return;
  }
  const Matrices m = matrices(c, 2);
  require_same_type(c, 0, 2);
  const auto op = static_cast<TransposeKind>(c.integer(AttrKey::transpose));
  c.require(op != TransposeKind::transpose || !is_complex(v.dtype),
            "complex reflections support only the adjoint, not the transpose");
  c.require(m.batch.size() == v.batch.size(), "the batches must have the same number of axes");
  for (std::size_t i = 0; i < v.batch.size(); ++i) c.require_equal(m.batch[i], v.batch[i], "the batches");
  c.require_equal(c.flag(AttrKey::left) ? m.rows : m.columns, v.rows, "the sizes of the reflections and of the matrix");
  c.out(v.dtype, shape_of(m.batch, {m.rows, m.columns}));
}

// A [..., m, n] -> LU [..., m, n], pivots int32 [..., min(m, n)], info int32 [...]. A = P L U with unit lower
// triangular L below the diagonal of LU; row i was swapped with row pivots[i] (from 1), in this order.
void lu_factor(Inference& c) {
  const Matrices a = matrices(c, 0);
  c.out(a.dtype, shape_of(a.batch, {a.rows, a.columns}));
  c.out(DType::i32, shape_of(a.batch, {c.pool.min(a.rows, a.columns)}));
  c.out(DType::i32, a.batch);
}

// LU [..., n, n] and pivots [..., n] of lu_factor, B -> X with op(A) X = B (`left`; B [..., n, k]) or X op(A) = B
// (B [..., k, n]), op as `transpose`. The batches of A and B broadcast. A singular matrix gives infinities or NaN.
void lu_solve(Inference& c) {
  const Matrices a = square_matrices(c, 0);
  require_pivots(c, 1, a.batch, a.rows);
  infer_solution(c, a, 2, c.flag(AttrKey::left));
}

// A [..., n, n], B -> X as lu_solve, with A triangular: reads the lower triangle only, or with `upper` the upper
// triangle; with `unit` the diagonal counts as ones.
void triangular_solve(Inference& c) {
  const Matrices a = square_matrices(c, 0);
  infer_solution(c, a, 1, c.flag(AttrKey::left));
}

// A [..., n, n] symmetric, or hermitian with `hermitian`, read in its lower triangle -> LD [..., n, n], pivots int32
// [..., n], info int32 [...]: Bunch-Kaufman factors in the packing of LAPACK's sytrf and hetrf.
void ldl_factor(Inference& c) {
  const Matrices a = square_matrices(c, 0);
  c.out(a.dtype, shape_of(a.batch, {a.rows, a.columns}));
  c.out(DType::i32, shape_of(a.batch, {a.rows}));
  c.out(DType::i32, a.batch);
}

// LD and pivots of ldl_factor, B [..., n, k] -> X with A X = B. The batches of A and B broadcast.
void ldl_solve(Inference& c) {
  const Matrices a = square_matrices(c, 0);
  require_pivots(c, 1, a.batch, a.rows);
  infer_solution(c, a, 2, true);
}

// A [..., m, n], B [..., m, k] of equal batches -> X [..., n, k] minimizing |A X - B|, then |X|; residuals [..., k]
// (the squared length of each column of A X - B; [0] unless m > n and the driver is not gelsy; NaN for rank-deficient
// A), rank int64 [...] ([0] for gels), and the singular values [..., min(m, n)] of A (gelsd and gelss, else [0]).
// `mode`: LstsqKind. `epsilon`: singular values below this fraction of the largest count as zero.
void lstsq(Inference& c) {
  const Matrices a = matrices(c, 0);
  const Matrices b = matrices(c, 1);
  require_same_type(c, 0, 1);
  c.require(a.batch.size() == b.batch.size(), "the batches must have the same number of axes");
  for (std::size_t i = 0; i < a.batch.size(); ++i) c.require_equal(a.batch[i], b.batch[i], "the batches");
  c.require_equal(a.rows, b.rows, "the rows of the matrix and of the right hand side");
  const auto driver = static_cast<LstsqKind>(c.integer(AttrKey::mode));
  const Interval rows_beyond_columns = difference(c.pool, a.rows, a.columns);
  c.require(driver == LstsqKind::gelsy || rows_beyond_columns.min > 0 || rows_beyond_columns.max <= 0,
            "whether there are more rows than columns must be known");
  const bool has_residuals = driver != LstsqKind::gelsy && rows_beyond_columns.min > 0;
  const bool has_singular_values = driver == LstsqKind::gelsd || driver == LstsqKind::gelss;
  c.out(a.dtype, shape_of(a.batch, {a.columns, b.columns}));
  c.out(real_part(a.dtype), has_residuals ? shape_of(a.batch, {b.columns}) : Dims{0});
  c.out(DType::i64, driver == LstsqKind::gels ? Dims{0} : a.batch);
  c.out(real_part(a.dtype), has_singular_values ? shape_of(a.batch, {c.pool.min(a.rows, a.columns)}) : Dims{0});
}

constexpr Attribute kCheck = flag(AttrKey::check, "a matrix that cannot be factored fails the run");
constexpr Attribute kHermitian = flag(AttrKey::hermitian, "a is hermitian, not symmetric");
constexpr Attribute kLeft = flag(AttrKey::left, "the matrix stands to the left");
constexpr Attribute kTranspose = defaulted(AttrKey::transpose, kTransposeNames, 0, "how the matrix enters");
constexpr AttrRecord kCholesky[] = {kUpperTriangle, kCheck};
constexpr AttrRecord kQr[] = {required(AttrKey::mode, kQrNames, "which results")};
constexpr AttrRecord kHouseholder[] = {required(AttrKey::kind, kHouseholderNames, "the product, or times c"), kLeft,
                                       kTranspose};
constexpr AttrRecord kLuFactor[] = {kCheck};
constexpr AttrRecord kLuSolve[] = {kLeft, kTranspose};
constexpr AttrRecord kTriangularSolve[] = {kUpperTriangle, flag(AttrKey::unit, "the diagonal is taken as ones"), kLeft,
                                           kTranspose};
constexpr AttrRecord kLdlFactor[] = {kHermitian, kCheck};
constexpr AttrRecord kLdlSolve[] = {kHermitian};
constexpr AttrRecord kLstsq[] = {
    required(AttrKey::mode, kLstsqNames, "LAPACK's driver"),
    defaulted_number(AttrKey::epsilon, -1,
                     "singular values below that part of the largest are zero; negative: LAPACK's"),
};

constexpr OpRecord kLinalgOps[] = {
    TERN_OP(81, cholesky, "a -> l, info", "a = l l^H, or l^H l if upper")
        .attrs(kCholesky)
        .costs(cholesky_operations)
        .rule(cholesky),
    TERN_OP(82, qr, "a -> q, r", "a = q r, or LAPACK's geqrf").attrs(kQr).costs(qr_operations).rule(qr),
    TERN_OP(83, householder, "v, tau, c? -> y", "a product of Householder reflections")
        .attrs(kHouseholder)
        .rule(householder),
    TERN_OP(87, lu_factor, "a -> lu, pivots, info", "a = P L U")
        .attrs(kLuFactor)
        .costs(lu_factor_operations)
        .rule(lu_factor),
    TERN_OP(88, lu_solve, "lu, pivots, b -> x", "a x = b, or x a = b, by lu_factor")
        .attrs(kLuSolve)
        .costs(lu_solve_operations)
        .rule(lu_solve),
    TERN_OP(89, triangular_solve, "a, b -> x", "a x = b, or x a = b, with a triangular")
        .attrs(kTriangularSolve)
        .costs(triangular_solve_operations)
        .rule(triangular_solve),
    TERN_OP(90, ldl_factor, "a -> ld, pivots, info", "factors of Bunch and Kaufman, as LAPACK's sytrf and hetrf")
        .attrs(kLdlFactor)
        .rule(ldl_factor),
    TERN_OP(91, ldl_solve, "ld, pivots, b -> x", "a x = b, by ldl_factor").attrs(kLdlSolve).rule(ldl_solve),
    TERN_OP(92, lstsq, "a, b -> x, residuals, rank, values", "x of least |a x - b|, and of least |x| among those")
        .attrs(kLstsq)
        .rule(lstsq),
};

}  // namespace

std::span<const OpRecord> linalg_ops() {
  return kLinalgOps;
}

}  // namespace tern::ops
