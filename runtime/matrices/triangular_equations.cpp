#include "runtime/matrices/triangular_equations.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace tern::matrices {
namespace {

/// True if x is what rounding leaves of a sum of numbers of this size.
bool is_rounding(Complex x, double size) {
  return size_of(x) <= 2 * std::numeric_limits<double>::epsilon() * size;
}

/// Solves (R + shift) Y = y in place for one column y [n], with rows of upper triangular R.
bool solve_shifted(MatrixRef<const Complex> r, Complex shift, Complex* y) {
  for (std::int64_t i = r.rows; i-- > 0;) {
    const Complex* const row = r.row(i);
    Complex sum = y[i];
    for (std::int64_t k = i + 1; k < r.rows; ++k) sum -= row[k] * y[k];
    const Complex pivot = row[i] + shift;
    if (is_rounding(pivot, size_of(row[i]) + size_of(shift))) return false;
    y[i] = sum / pivot;
  }
  return true;
}

void load_column(MatrixRef<Complex> from, std::int64_t c, Complex* to) {
  for (std::int64_t r = 0; r < from.rows; ++r) to[r] = from(r, c);
}
void store_column(const Complex* from, MatrixRef<Complex> to, std::int64_t c) {
  for (std::int64_t r = 0; r < to.rows; ++r) to(r, c) = from[r];
}

}  // namespace

bool solve_sylvester(MatrixRef<const Complex> r, MatrixRef<const Complex> s, MatrixRef<Complex> f) {
  std::vector<Complex> y(static_cast<std::size_t>(f.rows));
  for (std::int64_t c = 0; c < f.columns; ++c) {
    load_column(f, c, y.data());
    if (!solve_shifted(r, s(c, c), y.data())) return false;
    store_column(y.data(), f, c);
    for (std::int64_t i = 0; i < f.rows; ++i) {
      for (std::int64_t k = c + 1; k < f.columns; ++k) f(i, k) -= f(i, c) * s(c, k);
    }
  }
  return true;
}

bool solve_lyapunov(MatrixRef<const Complex> r, MatrixRef<Complex> f) {
  const std::int64_t n = f.rows;
  std::vector<Complex> y(static_cast<std::size_t>(n));
  for (std::int64_t c = n; c-- > 0;) {
    load_column(f, c, y.data());
    if (!solve_shifted(r, std::conj(r(c, c)), y.data())) return false;
    store_column(y.data(), f, c);
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t k = 0; k < c; ++k) f(i, k) -= f(i, c) * std::conj(r(k, c));
    }
  }
  return true;
}

bool solve_stein(MatrixRef<const Complex> r, MatrixRef<Complex> f) {
  const std::int64_t n = f.rows;
  std::vector<Complex> y(static_cast<std::size_t>(n)), sums(static_cast<std::size_t>(n));
  for (std::int64_t c = n; c-- > 0;) {
    // (1 - conj(r_cc) R) Y_c = F_c + R sum of Y_k conj(r_ck) over k > c.
    std::fill(sums.begin(), sums.end(), Complex(0));
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t k = c + 1; k < n; ++k) sums[static_cast<std::size_t>(i)] += f(i, k) * std::conj(r(c, k));
    }
    const Complex own = std::conj(r(c, c));
    load_column(f, c, y.data());
    for (std::int64_t i = n; i-- > 0;) {
      const Complex* const row = r.row(i);
      Complex& x = y[static_cast<std::size_t>(i)];
      for (std::int64_t k = i; k < n; ++k) x += row[k] * sums[static_cast<std::size_t>(k)];
      for (std::int64_t k = i + 1; k < n; ++k) x += own * row[k] * y[static_cast<std::size_t>(k)];
      const Complex pivot = 1.0 - own * row[i];
      if (is_rounding(pivot, 1)) return false;
      x /= pivot;
    }
    store_column(y.data(), f, c);
  }
  return true;
}

}  // namespace tern::matrices
