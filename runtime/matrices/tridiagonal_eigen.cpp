#include "runtime/matrices/tridiagonal_eigen.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace tern::matrices {
namespace {

constexpr double kRounding = std::numeric_limits<double>::epsilon();
constexpr int kStepsPerValue = 60;  // an eigenvalue usually takes two

/// Rotates columns k and k + 1.
void rotate_columns(std::int64_t n, double* z, std::int64_t k, double cosine, double sine) {
  for (std::int64_t r = 0; r < n; ++r) {
    double* const x = z + r * n + k;
    const double next = x[1];
    x[1] = sine * x[0] + cosine * next;
    x[0] = cosine * x[0] - sine * next;
  }
}

bool iterate_ql(std::int64_t n, double* d, double* e, double* z) {
  for (std::int64_t first = 0; first < n; ++first) {
    for (int step = 0;; ++step) {
      std::int64_t last = first;
      for (; last + 1 < n; ++last) {
        if (std::abs(e[last]) <= kRounding * std::sqrt(std::abs(d[last])) * std::sqrt(std::abs(d[last + 1]))) break;
        if (std::abs(e[last]) < std::numeric_limits<double>::min()) break;
      }
      if (last == first) break;
      if (step == kStepsPerValue) return false;
      const double half = (d[first + 1] - d[first]) / (2 * e[first]);
      const double root = std::hypot(half, 1.0);
      double g = d[last] - d[first] + e[first] / (half + std::copysign(root, half));
      double sine = 1, cosine = 1, p = 0;
      std::int64_t k = last - 1;
      for (; k >= first; --k) {
        const double f = sine * e[k], b = cosine * e[k];
        const double length = std::hypot(f, g);
        e[k + 1] = length;
        if (length == 0) {
          d[k + 1] -= p;
          e[last] = 0;
          break;
        }
        sine = f / length, cosine = g / length;
        g = d[k + 1] - p;
        const double r = (d[k] - g) * sine + 2 * cosine * b;
        p = sine * r;
        d[k + 1] = g + p;
        g = cosine * r - b;
        if (z != nullptr) rotate_columns(n, z, k, cosine, sine);
      }
      if (k >= first) continue;
      d[first] -= p;
      e[first] = g;
      e[last] = 0;
    }
  }
  return true;
}

}  // namespace

bool eigen_of_tridiagonal(std::int64_t n, double* d, double* e, double* z) {
  if (n == 0) return true;
  e[n - 1] = 0;
  for (std::int64_t i = 0; z != nullptr && i < n * n; ++i) z[i] = i % (n + 1) == 0 ? 1 : 0;
  const int exponent = unusual(std::max(exponent_of(d, n), exponent_of(e, n)));
  scale_by_power(d, n, -exponent);
  scale_by_power(e, n, -exponent);
  if (!iterate_ql(n, d, e, z)) return false;
  scale_by_power(d, n, exponent);
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::ranges::stable_sort(order, {}, [&](std::int64_t k) { return d[k]; });
  std::vector<double> row(static_cast<std::size_t>(n));
  const auto sort_row = [&](double* x) {
    std::ranges::transform(order, row.begin(), [&](std::int64_t k) { return x[k]; });
    std::ranges::copy(row, x);
  };
  for (std::int64_t r = 0; z != nullptr && r < n; ++r) sort_row(z + r * n);
  sort_row(d);
  return true;
}

}  // namespace tern::matrices
