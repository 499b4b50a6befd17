// Banded systems of tern/linalg.h.
#include <tern/linalg.h>

#include <algorithm>
#include <cmath>

#include "runtime/linalg/elements.h"
#include "runtime/linalg/nodes.h"
#include "runtime/linalg/wide.h"

namespace tern::linalg {
namespace {

using matrices::Complex;
using matrices::conjugate;
using matrices::MatrixRef;
using matrices::size_of;

/// A matrix of `below` diagonals under the main one, with space for the rows that pivoting moves up: element (r, c) at
/// row r, place c - r + below.
template <class T>
class BandRows {
 public:
  BandRows(std::int64_t n, std::int64_t below, std::int64_t above)
      : n_(n), lower_bandwidth_(below), width_(2 * below + above + 1), x_(static_cast<std::size_t>(n * width_)) {}
  T& operator()(std::int64_t r, std::int64_t c) {
    return x_[static_cast<std::size_t>(r * width_ + c - r + lower_bandwidth_)];
  }
  /// Last column of row r with an element.
  std::int64_t last_column(std::int64_t r) const { return std::min(n_ - 1, r + width_ - 1 - lower_bandwidth_); }

 private:
  std::int64_t n_, lower_bandwidth_, width_;
  std::vector<T> x_;
};

/// Gaussian elimination with partial pivoting, LAPACK's gbsv. Solves in place of B [n, k]. Returns 0, or the row of a
/// zero pivot, from 1.
template <class T>
std::int32_t eliminate_band(MatrixRef<const T> bands, std::int64_t below, MatrixRef<T> b) {
  const std::int64_t n = b.rows, k = b.columns, above = bands.rows - 1 - below;
  BandRows<T> a(n, below, above);
  for (std::int64_t c = 0; c < n; ++c) {
    for (std::int64_t r = std::max<std::int64_t>(0, c - above); r <= std::min(n - 1, c + below); ++r)
      a(r, c) = bands(above + r - c, c);
  }
  std::int32_t info = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t end = std::min(n - 1, i + below), last = std::min(n - 1, i + below + above);
    std::int64_t pivot = i;
    for (std::int64_t r = i + 1; r <= end; ++r) {
      if (size_of(a(r, i)) > size_of(a(pivot, i))) pivot = r;
    }
    if (a(pivot, i) == T(0)) {
      if (info == 0) info = static_cast<std::int32_t>(i) + 1;
      continue;
    }
    if (pivot != i) {
      for (std::int64_t c = i; c <= last; ++c) std::swap(a(i, c), a(pivot, c));
      std::swap_ranges(b.row(i), b.row(i) + k, b.row(pivot));
    }
    for (std::int64_t r = i + 1; r <= end; ++r) {
      if (a(r, i) == T(0)) continue;
      const T factor = a(r, i) / a(i, i);
      for (std::int64_t c = i + 1; c <= last; ++c) a(r, c) -= factor * a(i, c);
      for (std::int64_t c = 0; c < k; ++c) b(r, c) -= factor * b(i, c);
    }
  }
  for (std::int64_t i = n; info == 0 && i-- > 0;) {
    for (std::int64_t c = i + 1; c <= a.last_column(i); ++c) {
      const T factor = a(i, c);
      for (std::int64_t j = 0; factor != T(0) && j < k; ++j) b(i, j) -= factor * b(c, j);
    }
    for (std::int64_t j = 0; j < k; ++j) b(i, j) /= a(i, i);
  }
  return info;
}

/// Cholesky factors of the band, LAPACK's pbsv. Row d of `bands` holds the d-th diagonal under the main one, or above
/// for `upper`, by the column of its element. Returns 0, or the order of a leading minor that is not positive, from 1.
template <class T>
std::int32_t solve_positive_band(MatrixRef<const T> bands, bool upper, MatrixRef<T> b) {
  const std::int64_t n = b.rows, k = b.columns, width = bands.rows - 1;
  std::vector<T> factor(static_cast<std::size_t>(n * (width + 1)));
  // Element (r, c) of the lower triangle.
  const auto l = [&](std::int64_t r, std::int64_t c) -> T& {
    return factor[static_cast<std::size_t>(r * (width + 1) + c - r + width)];
  };
  for (std::int64_t r = 0; r < n; ++r) {
    for (std::int64_t c = std::max<std::int64_t>(0, r - width); c <= r; ++c)
      l(r, c) = upper ? conjugate(bands(width - (r - c), r)) : bands(r - c, c);
  }
  for (std::int64_t r = 0; r < n; ++r) {
    const std::int64_t first = std::max<std::int64_t>(0, r - width);
    double own = std::real(l(r, r));
    for (std::int64_t c = first; c < r; ++c) {
      T sum = l(r, c);
      for (std::int64_t j = std::max(first, c - width); j < c; ++j) sum -= l(r, j) * conjugate(l(c, j));
      l(r, c) = sum / std::real(l(c, c));
      own -= std::norm(l(r, c));
    }
    if (!(own > 0)) return static_cast<std::int32_t>(r) + 1;
    l(r, r) = std::sqrt(own);
  }
  for (std::int64_t r = 0; r < n; ++r) {
    for (std::int64_t j = 0; j < k; ++j) {
      for (std::int64_t c = std::max<std::int64_t>(0, r - width); c < r; ++c) b(r, j) -= l(r, c) * b(c, j);
      b(r, j) /= std::real(l(r, r));
    }
  }
  for (std::int64_t r = n; r-- > 0;) {
    for (std::int64_t j = 0; j < k; ++j) {
      for (std::int64_t c = r + 1; c <= std::min(n - 1, r + width); ++c) b(r, j) -= conjugate(l(c, r)) * b(c, j);
      b(r, j) /= std::real(l(r, r));
    }
  }
  return 0;
}

/// Calls solve(bands, B) for each matrix in double precision, scaled to numbers of ordinary size.
template <class F>
SolveResult solve_bands(const Nodes& nodes, const Tensor& bands, const Tensor& b, F solve) {
  nodes.require_matrices(bands);
  require_same_batch(nodes, bands, b);
  const std::int64_t n = bands.sizes().back(), width = bands.sizes()[bands.sizes().size() - 2], k = b.sizes().back();
  if (b.sizes()[b.sizes().size() - 2] != n) nodes.refuse("B must have a row for each column of the bands");
  Tensor wide = widened(bands, false), x = widened(b, false),
         info(DType::i32, {b.sizes().begin(), b.sizes().end() - 2});
  visit_matrices(info, 2.0 * static_cast<double>(n * width * (width + k)), [&](std::int64_t i) {
    const auto run = [&](auto tag) {
      using T = decltype(tag);
      const MatrixRef<T> a = matrix_of<T>(wide, i), y = matrix_of<T>(x, i);
      const int exponent = matrices::unusual(matrices::exponent_of(a.data, width * n)) / 2 * 2;
      matrices::scale_by_power(a.data, width * n, -exponent);
      const std::int32_t failed = solve(MatrixRef<const T>(a.data, width, n), y);
      matrices::scale_by_power(y.data, n * k, -exponent);
      return failed;
    };
    return wide.dtype() == DType::f64 ? run(double()) : run(Complex());
  });
  SolveResult result{narrowed(x, b.dtype()), info};
  Tensor bad = info.clone();
  seal(bad, {&result.x});
  for (std::size_t i = 0; i < static_cast<std::size_t>(info.numel()); ++i) {
    if (info.span<std::int32_t>()[i] == 0 && bad.span<std::int32_t>()[i] != 0) result.info.span<std::int32_t>()[i] = -1;
  }
  return result;
}

void require_solution(const Nodes& nodes, const Tensor& info, const char* why) {
  const auto numbers = info.span<std::int32_t>();
  const auto failed = std::ranges::find_if(numbers, [](std::int32_t k) { return k != 0; });
  if (failed == numbers.end()) return;
  nodes.require_factored(info, *failed > 0 ? why : "has NaN or infinities, or a solution beyond the range of its type");
}

SolveResult banded_of(const Nodes& nodes, const Tensor& bands, std::int64_t below, const Tensor& b) {
  nodes.require_matrices(bands);
  if (below < 0 || below >= bands.sizes()[bands.sizes().size() - 2])
    nodes.refuse("the bands must have a row for the main diagonal and for each diagonal below");
  return solve_bands(nodes, bands, b, [below](auto a, auto x) { return eliminate_band(a, below, x); });
}

SolveResult positive_of(const Nodes& nodes, const Tensor& bands, const Tensor& b, bool upper) {
  return solve_bands(nodes, bands, b, [upper](auto a, auto x) { return solve_positive_band(a, upper, x); });
}

}  // namespace

Tensor banded_solve(const Tensor& bands, std::int64_t below, const Tensor& b, const Options& options) {
  const Nodes nodes("banded_solve", options.threads);
  const SolveResult r = banded_of(nodes, bands, below, b);
  require_solution(nodes, r.info, "is singular: pivot {0} is zero");
  return r.x;
}
SolveResult banded_solve_ex(const Tensor& bands, std::int64_t below, const Tensor& b, const Options& options) {
  return banded_of(Nodes("banded_solve_ex", options.threads), bands, below, b);
}

Tensor banded_cholesky_solve(const Tensor& bands, const Tensor& b, const TriangleOptions& options) {
  const Nodes nodes("banded_cholesky_solve", options.threads);
  const SolveResult r = positive_of(nodes, bands, b, options.upper);
  require_solution(nodes, r.info, "is not positive definite: its leading minor of order {0} is not");
  return r.x;
}
SolveResult banded_cholesky_solve_ex(const Tensor& bands, const Tensor& b, const TriangleOptions& options) {
  return positive_of(Nodes("banded_cholesky_solve_ex", options.threads), bands, b, options.upper);
}

}  // namespace tern::linalg
