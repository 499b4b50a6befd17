// Toeplitz systems of tern/linalg.h.
#include <tern/linalg.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/linalg/elements.h"
#include "runtime/linalg/nodes.h"
#include "runtime/linalg/wide.h"

namespace tern::linalg {
namespace {

using matrices::Complex;
using matrices::MatrixRef;

/// Element t[i - j] of a Toeplitz matrix.
template <class T>
struct ToeplitzRef {
  const T *column, *row;
  T operator()(std::int64_t difference) const { return difference >= 0 ? column[difference] : row[-difference]; }
};

/// Overwrites B [n, k] by the solution. Returns false if a leading minor is zero.
template <class T>
bool solve_by_levinson(ToeplitzRef<T> t, MatrixRef<T> b) {
  const std::int64_t n = b.rows;
  if (n == 0) return true;
  if (t(0) == T(0)) return false;
  // Solutions of the leading system for its first and its last unit vector.
  std::vector<T> forward(static_cast<std::size_t>(n)), backward(forward);
  forward[0] = backward[0] = T(1) / t(0);
  for (std::int64_t c = 0; c < b.columns; ++c) b(0, c) *= forward[0];
  for (std::int64_t m = 1; m < n; ++m) {
    T below = T(0), above = T(0);
    for (std::int64_t i = 0; i < m; ++i) {
      below += t(m - i) * forward[static_cast<std::size_t>(i)];
      above += t(-1 - i) * backward[static_cast<std::size_t>(i)];
    }
    const T rest = T(1) - below * above;
    if (rest == T(0) || !std::isfinite(std::abs(rest))) return false;
    for (std::int64_t i = m; i >= 0; --i) {
      const auto k = static_cast<std::size_t>(i);
      const T f = i < m ? forward[k] : T(0), later = i > 0 ? backward[k - 1] : T(0);
      forward[k] = (f - below * later) / rest;
      backward[k] = (later - above * f) / rest;
    }
    for (std::int64_t c = 0; c < b.columns; ++c) {
      T difference = b(m, c);
      for (std::int64_t i = 0; i < m; ++i) difference -= t(m - i) * b(i, c);
      b(m, c) = T(0);
      for (std::int64_t i = 0; i <= m; ++i) b(i, c) += difference * backward[static_cast<std::size_t>(i)];
    }
  }
  return true;
}

/// True if each column of A X - B is a few roundings of its terms.
template <class T>
bool has_small_residual(ToeplitzRef<T> t, MatrixRef<const T> x, MatrixRef<const T> b) {
  double squares = 0;  // sum over the elements of A
  for (std::int64_t k = 1 - x.rows; k < x.rows; ++k)
    squares += static_cast<double>(x.rows - std::abs(k)) * std::norm(t(k));
  const double limit = 4 * std::numeric_limits<double>::epsilon(), size = std::sqrt(squares);
  for (std::int64_t c = 0; c < x.columns; ++c) {
    double solution = 0, given = 0, residual = 0;
    for (std::int64_t i = 0; i < x.rows; ++i) {
      solution = std::hypot(solution, std::abs(x(i, c)));
      given = std::hypot(given, std::abs(b(i, c)));
      T sum = -b(i, c);
      for (std::int64_t j = 0; j < x.rows; ++j) sum += t(i - j) * x(j, c);
      residual = std::hypot(residual, std::abs(sum));
    }
    if (!(residual <= limit * (size * solution + given))) return false;
  }
  return true;
}

/// The recursion, repeated for its residual where this is large. B [n, k] becomes the solution; `given` keeps B.
/// Returns false without a solution of small residual.
template <class T>
bool solve_and_refine(ToeplitzRef<T> t, MatrixRef<T> x, MatrixRef<const T> given) {
  constexpr int kMaxRefinements = 2;
  const std::int64_t n = x.rows, k = x.columns;
  if (!solve_by_levinson(t, x)) return false;
  const MatrixRef<const T> found(x.data, n, k);
  std::vector<T> residual(static_cast<std::size_t>(n * k));
  for (int pass = 0; !has_small_residual(t, found, given); ++pass) {
    if (pass == kMaxRefinements) return false;
    const MatrixRef<T> r(residual.data(), n, k);
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t c = 0; c < k; ++c) {
        r(i, c) = given(i, c);
        for (std::int64_t j = 0; j < n; ++j) r(i, c) -= t(i - j) * x(j, c);
      }
    }
    if (!solve_by_levinson(t, r)) return false;
    for (std::int64_t i = 0; i < n * k; ++i) x.data[i] += residual[static_cast<std::size_t>(i)];
  }
  return true;
}

/// The whole matrices of the selected systems, solved by LU factors.
void solve_dense(const Nodes& nodes, const Tensor& column, const Tensor& row, const Tensor& b, Tensor& x, Tensor& info,
                 const std::vector<std::uint8_t>& is_dense) {
  const std::int64_t n = b.sizes()[b.sizes().size() - 2], k = b.sizes().back();
  for (std::size_t i = 0; i < is_dense.size(); ++i) {
    if (is_dense[i] == 0) continue;
    const auto at = static_cast<std::int64_t>(i);
    Tensor dense(b.dtype(), {n, n}), rhs(b.dtype(), {n, k});
    const auto run = [&](auto tag) {
      using T = decltype(tag);
      const ToeplitzRef<T> t{column.span<T>().data() + at * n, row.span<T>().data() + at * n};
      for (std::int64_t r = 0; r < n; ++r) {
        for (std::int64_t c = 0; c < n; ++c) matrix_of<T>(dense, 0)(r, c) = t(r - c);
      }
      std::copy_n(matrix_of<T>(b, at).data, n * k, rhs.span<T>().data());
      const std::vector<Tensor> lu = nodes.run(Op::lu_factor, {dense}, {attr(AttrKey::check, 0)});
      if (lu[2].span<std::int32_t>()[0] != 0) info.span<std::int32_t>()[i] = kNoSolution;
      const Tensor found = nodes.run(Op::lu_solve, {lu[0], lu[1], rhs}, {attr(AttrKey::left, 1)})[0];
      std::copy_n(found.span<T>().data(), n * k, matrix_of<T>(x, at).data);
    };
    b.dtype() == DType::f64 ? run(double()) : run(Complex());
  }
}

SolveResult toeplitz_of(const Nodes& nodes, const Tensor& column, const Tensor& row, const Tensor& b) {
  nodes.require_matrices(b);
  const std::vector<std::int64_t> expected(b.sizes().begin(), b.sizes().end() - 1);
  const auto fits = [&](const Tensor& t) { return t.dtype() == b.dtype() && t.sizes() == expected; };
  if (!fits(column) || !fits(row))
    nodes.refuse("column and row must have the type of B, and its sizes without the last");
  const std::int64_t n = expected.back(), k = b.sizes().back();
  Tensor info = info_of({&b}), vectors = info_of({&column, &row}, 1);
  for (std::size_t i = 0; i < static_cast<std::size_t>(info.numel()); ++i)
    info.span<std::int32_t>()[i] |= vectors.span<std::int32_t>()[i];
  Tensor columns = widened(column, false), rows = widened(row, false), x = widened(b, false);
  std::vector<std::uint8_t> is_dense(static_cast<std::size_t>(info.numel()));
  std::vector<int> exponents(is_dense.size());
  Tensor given = x.clone();
  visit_matrices(info, 4.0 * static_cast<double>(n * n * (1 + k)), [&](std::int64_t i) {
    const auto run = [&](auto tag) {
      using T = decltype(tag);
      T *const c = columns.span<T>().data() + i * n, *const r = rows.span<T>().data() + i * n;
      if (n > 0) r[0] = c[0];
      const auto at = static_cast<std::size_t>(i);
      exponents[at] = matrices::unusual(std::max(matrices::exponent_of(c, n), matrices::exponent_of(r, n)));
      matrices::scale_by_power(c, n, -exponents[at]);
      matrices::scale_by_power(r, n, -exponents[at]);
      const MatrixRef<T> y = matrix_of<T>(x, i), before = matrix_of<T>(given, i);
      const ToeplitzRef<T> t{c, r};
      is_dense[at] = solve_and_refine(t, y, MatrixRef<const T>(before.data, n, k)) ? 0 : 1;
    };
    x.dtype() == DType::f64 ? run(double()) : run(Complex());
    return 0;
  });
  solve_dense(nodes, columns, rows, given, x, info, is_dense);
  scale_matrices(x, exponents, -1);
  SolveResult result{narrowed(x, b.dtype()), info};
  seal(result.info, {&result.x});
  return result;
}

}  // namespace

Tensor toeplitz_solve(const Tensor& column, const Tensor& row, const Tensor& b, const Options& options) {
  const Nodes nodes("toeplitz_solve", options.threads);
  const SolveResult r = toeplitz_of(nodes, column, row, b);
  nodes.require_solved(r.info, "is singular, or has a solution beyond the range of its type");
  return r.x;
}
SolveResult toeplitz_solve_ex(const Tensor& column, const Tensor& row, const Tensor& b, const Options& options) {
  return toeplitz_of(Nodes("toeplitz_solve_ex", options.threads), column, row, b);
}

}  // namespace tern::linalg
