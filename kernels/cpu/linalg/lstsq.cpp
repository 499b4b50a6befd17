// lstsq: LAPACK's gels, gelsy, gelsd and gelss; for certain full rank, QR without pivoting replaces gelsy.
#include <cmath>

#include "kernels/cpu/linalg/batch.h"
#include "kernels/cpu/linalg/full_rank.h"
#include "kernels/cpu/linalg/lapack.h"
#include "kernels/cpu/linalg/linalg.h"
#include "kernels/cpu/linalg/reflections.h"
#include "kernels/cpu/linalg/triangle.h"
#include "schema/linalg_kinds.h"

namespace tern::cpu {
namespace {

/// True if sums of squares of the numbers neither overflow nor underflow; zeros are allowed.
template <class T>
bool squares_fit(const T* x, std::int64_t n) {
  using R = lapack::RealPart<T>;
  R most(0);
  for (std::int64_t i = 0; i < n; ++i) most = std::max({most, std::abs(std::real(x[i])), std::abs(std::imag(x[i]))});
  return most == 0 || (most * most > std::numeric_limits<R>::min() / std::numeric_limits<R>::epsilon() &&
                       most * most < std::numeric_limits<R>::max() * std::numeric_limits<R>::epsilon());
}

template <class T>
struct LstsqJob {
  using R = lapack::RealPart<T>;

  explicit LstsqJob(const KernelCall& call)
      : c(&call),
        count(batch_count(call.in[0], 2)),  // the batches are equal, and each result may be absent
        a(call.in[0], 2, call.in[0], 2),
        b(call.in[1], 2, call.in[0], 2),
        m(lapack_size(a.rows)),
        n(lapack_size(a.columns)),
        columns(lapack_size(b.columns)),
        solved(std::max(columns, 1)),
        k(lapack_size(std::min(m, n), 10)),
        ldb(std::max({m, n, 1})),
        driver(static_cast<LstsqKind>(call.node->integer(AttrKey::mode))),
        epsilon(static_cast<R>(call.node->number(AttrKey::epsilon))) {
    flops = 10.0 * m * n * k;
    if (k == 0) return;
    T answer(0);
    R reals[8] = {};
    int integers[8] = {};
    solve(nullptr, nullptr, nullptr, &answer, -1, reals, integers);
    work_length = std::max(1, work_size(answer));
    if (driver == LstsqKind::gelsy) work_length = std::max(work_length, qr_work_length(k, std::max(k, solved)));
    integer_length = std::max({n, integers[0], 1});
    // gelsd reports its real workspace; the other drivers document theirs.
    real_length = std::max({work_size(reals[0]), 5 * k, 2 * n, 1});
  }
  int solve(T* m_, T* b_, R* s, T* w, int length, R* rw, int* iw) {
    switch (driver) {
      case LstsqKind::gelsy:
        return lapack::gelsy(m, n, solved, m_, std::max(m, 1), b_, ldb, iw, epsilon, &rank, w, length, rw);
      case LstsqKind::gelsd:
        return lapack::gelsd(m, n, solved, m_, std::max(m, 1), b_, ldb, s, epsilon, &rank, w, length, rw, iw);
      case LstsqKind::gelss:
        return lapack::gelss(m, n, solved, m_, std::max(m, 1), b_, ldb, s, epsilon, &rank, w, length, rw);
      default: rank = k; return lapack::gels(m, n, solved, m_, std::max(m, 1), b_, ldb, w, length);
    }
  }
  /// Computes gelsy's solution without pivoting, from the QR of A in `matrix`, or of A^H for wide A. Without certain
  /// full rank, only `matrix` changes.
  bool solve_by_qr(std::int64_t i) {
    if (!squares_fit(rhs, static_cast<std::int64_t>(ldb) * solved)) return false;  // gelsy scales the numbers
    const bool tall = m >= n;
    if (!tall) a.copy_rows(i, matrix);
    if constexpr (lapack::kIsComplex<T>) {
      for (std::int64_t e = 0; !tall && e < a.rows * a.columns; ++e) matrix[e] = std::conj(matrix[e]);
    }
    T *tau = work + work_length, *vectors = tau + k;
    factor_qr(ldb, k, matrix, tau, work, work_length);
    if (!has_full_rank(k, matrix, ldb, epsilon, vectors)) return false;
    // LAPACK's blocks of reflections do not pay off for few columns: a smaller workspace disables blocks.
    const int length = solved < 16 ? solved : work_length;
    const auto reflect = [&](char op) {
      lapack::ormqr('L', op, ldb, solved, k, matrix, ldb, tau, rhs, ldb, work, length);
    };
    const auto solve_r = [&](CBLAS_TRANSPOSE op) {  // row-major: X^T R^T = B^T
      solve_triangle<T>(CblasRight, {matrix, ldb, CblasLower, op, CblasNonUnit}, solved, k, rhs, ldb);
    };
    if (tall) {
      reflect('C');
      solve_r(CblasNoTrans);
    } else {
      solve_r(CblasConjTrans);
      reflect('N');
    }
    rank = k;
    return true;
  }
  void allocate(ScratchArena& arena) {
    matrix = arena.allocate<T>(a.rows * a.columns);
    rhs = arena.allocate<T>(static_cast<std::int64_t>(ldb) * solved);
    values = arena.allocate<R>(k);
    work = arena.allocate<T>(work_length + 3 * static_cast<std::int64_t>(k));
    real_work = arena.allocate<R>(real_length);
    integer_work = arena.allocate<int>(integer_length);
  }
  void compute_matrix(std::int64_t i, Failure& failure) {
    rank = 0;
    std::fill_n(rhs, static_cast<std::int64_t>(ldb) * solved, T(0));
    b.copy_columns(i, rhs, ldb);
    if (k > 0) {
      a.copy_columns(i, matrix, m);
      if (!all_finite(matrix, a.rows * a.columns)) return failure.report(i, Failure::Kind::not_finite);
      if (!all_finite(rhs, static_cast<std::int64_t>(ldb) * solved))
        return failure.report(i, Failure::Kind::right_side_not_finite);
      const bool tries_qr = driver == LstsqKind::gelsy;
      if (!tries_qr || !solve_by_qr(i)) {
        if (tries_qr) a.copy_columns(i, matrix, m);
        std::fill_n(integer_work, integer_length, 0);  // gelsy: all columns may move
        const int info = solve(matrix, rhs, values, work, work_length, real_work, integer_work);
        if (info != 0)
          return failure.report(
              i, driver == LstsqKind::gels ? Failure::Kind::not_of_full_rank : Failure::Kind::no_singular_values);
      }
    } else {
      for (std::int64_t col = 0; col < columns; ++col) std::fill_n(rhs + col * ldb, n, T(0));
    }
    if (T* out = output<T>(*c, 0, i, static_cast<std::int64_t>(n) * columns)) store_columns(rhs, ldb, n, columns, out);
    if (c->wants_output(1) && c->out[1].numel() > 0) store_residuals(c->out[1].template data_as<R>() + i * columns);
    if (auto* out = output<std::int64_t>(*c, 2, i, 1); out != nullptr && driver != LstsqKind::gels) *out = rank;
    if (c->wants_output(3) && c->out[3].numel() > 0)
      std::copy(values, values + k, c->out[3].template data_as<R>() + i * k);
  }
  void store_residuals(R* out) const {
    for (std::int64_t col = 0; col < columns; ++col) {
      R sum = rank < n ? std::numeric_limits<R>::quiet_NaN() : R(0);
      for (std::int64_t r = n; r < m; ++r) sum += std::norm(rhs[col * ldb + r]);
      out[col] = sum;
    }
  }

  const KernelCall* c;
  std::int64_t count;
  double flops = 0;
  BatchOperand a, b;
  int m, n, columns;
  int solved;  ///< columns for LAPACK; at least one, otherwise LAPACK computes no singular values
  int k, ldb;
  LstsqKind driver;
  R epsilon;
  int rank = 0, work_length = 1, real_length = 1, integer_length = 1;
  T *matrix = nullptr, *rhs = nullptr, *work = nullptr;
  R *values = nullptr, *real_work = nullptr;
  int* integer_work = nullptr;
};

}  // namespace

Kernel lstsq_kernel() {
  return job_kernel<LstsqJob>();
}

}  // namespace tern::cpu
