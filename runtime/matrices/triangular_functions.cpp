#include "runtime/matrices/triangular_functions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

namespace tern::matrices {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr int kMostRoots = 1100;  // the logarithm of a double needs fewer

/// Largest norm of X for which the Pade approximant of log(1 + X) of degree k + 1 is exact in double precision
/// (Higham, 2008, table 11.1).
constexpr std::array<double, 7> kLargestNorm = {1.10e-5, 1.82e-3, 1.62e-2, 5.39e-2, 1.14e-1, 1.87e-1, 2.64e-1};

/// Nodes and weights of Gauss and Legendre on [0, 1].
struct Quadrature {
  std::array<double, 7> nodes{}, weights{};
};
Quadrature gauss_legendre(int degree) {
  Quadrature q;
  for (int i = 0; i < degree; ++i) {
    double x = std::cos(kPi * (i + 0.75) / (degree + 0.5)), slope = 1;
    for (int step = 0; step < 100; ++step) {
      double before = 1, value = x;  // Legendre polynomials of degrees k - 1 and k at x
      for (int k = 2; k <= degree; ++k) {
        const double next = ((2 * k - 1) * x * value - (k - 1) * before) / k;
        before = value;
        value = next;
      }
      slope = degree * (x * value - before) / (x * x - 1);
      const double change = value / slope;
      x -= change;
      if (std::abs(change) < 1e-16) break;
    }
    q.nodes[static_cast<std::size_t>(i)] = (1 - x) / 2;
    q.weights[static_cast<std::size_t>(i)] = 1 / ((1 - x * x) * slope * slope);
  }
  return q;
}

/// Largest sum of sizes of a column of T - 1.
double distance_from_identity(MatrixRef<Complex> t) {
  double most = 0;
  for (std::int64_t c = 0; c < t.rows; ++c) {
    double sum = 0;
    for (std::int64_t r = 0; r <= c; ++r) sum += std::abs(t(r, c) - (r == c ? 1.0 : 0.0));
    most = std::max(most, sum);
  }
  return most;
}

/// a^(1 / 2^roots) - 1 without cancellation (Al-Mohy, 2012).
Complex root_less_one(Complex a, int roots) {
  if (roots == 0) return a - 1.0;
  if (roots == 1) return std::sqrt(a) - 1.0;
  if (std::abs(std::arg(a)) >= kPi / 2) {
    a = std::sqrt(a);
    --roots;
  }
  const Complex difference = a - 1.0;
  Complex product = 1;
  for (int k = 0; k < roots; ++k) {
    a = std::sqrt(a);
    product *= 1.0 + a;
  }
  return difference / product;
}

/// Number of turns of 2 pi that log(y) - log(x) has more than log(y / x).
double unwinding_number(Complex difference) {
  return std::ceil((difference.imag() - kPi) / (2 * kPi));
}
/// log(y) - log(x) for near x and y.
Complex difference_of_logs(Complex x, Complex y) {
  return 2.0 * (std::atanh((y - x) / (y + x)) + Complex(0, kPi * unwinding_number(std::log(y) - std::log(x))));
}
bool are_near(Complex x, Complex y) {
  return std::abs(y - x) <= std::abs(x + y) / 2;
}

/// (f(y) - f(x)) / (y - x) for f = log.
Complex divided_difference_of_log(Complex x, Complex y) {
  if (x == y) return 1.0 / x;
  return (are_near(x, y) ? difference_of_logs(x, y) : std::log(y) - std::log(x)) / (y - x);
}
/// The same for f = x^power.
Complex divided_difference_of_power(Complex x, Complex y, double power) {
  if (x == y) return power * std::pow(x, power - 1);
  if (!are_near(x, y)) return (std::pow(y, power) - std::pow(x, power)) / (y - x);
  return 2.0 * std::exp(power / 2 * (std::log(x) + std::log(y))) * std::sinh(power / 2 * difference_of_logs(x, y)) /
         (y - x);
}

/// Adds weight X (1 + node X)^-1 for upper triangular X; `row` is work memory.
void add_fraction(MatrixRef<Complex> x, double node, double weight, MatrixRef<Complex> sum,
                  std::vector<Complex>& work) {
  const std::int64_t n = x.rows;
  // Rows of Y (1 + node X) = weight X.
  for (std::int64_t r = 0; r < n; ++r) {
    Complex* const y = work.data();
    for (std::int64_t c = r; c < n; ++c) y[c] = weight * x(r, c);
    for (std::int64_t c = r; c < n; ++c) {
      y[c] /= 1.0 + node * x(c, c);
      const Complex factor = node * y[c];
      for (std::int64_t k = c + 1; k < n; ++k) y[k] -= factor * x(c, k);
      sum(r, c) += y[c];
    }
  }
}

}  // namespace

bool to_square_root(MatrixRef<Complex> t) {
  const std::int64_t n = t.rows;
  for (std::int64_t r = n; r-- > 0;) {
    Complex* const row = t.row(r);
    row[r] = std::sqrt(row[r]);
    for (std::int64_t c = r + 1; c < n; ++c) {
      if (row[c] != 0.0) {
        const Complex sum = row[r] + t(c, c);
        if (sum == 0.0) return false;
        row[c] /= sum;
      }
      const Complex found = row[c];
      for (std::int64_t k = c + 1; found != 0.0 && k < n; ++k) row[k] -= found * t(c, k);
    }
  }
  return true;
}

bool to_logarithm(MatrixRef<Complex> t) {
  const std::int64_t n = t.rows;
  for (std::int64_t i = 0; i < n; ++i) {
    if (t(i, i) == 0.0) return false;
  }
  const auto size = static_cast<std::size_t>(n);
  std::vector<Complex> diagonal(size), beside(size), sums(size * size), work(size);
  for (std::int64_t i = 0; i < n; ++i) {
    diagonal[static_cast<std::size_t>(i)] = t(i, i);
    if (i + 1 < n) beside[static_cast<std::size_t>(i)] = t(i, i + 1);
  }
  int roots = 0;
  double norm = distance_from_identity(t);
  for (; norm > kLargestNorm.back(); norm = distance_from_identity(t)) {
    if (roots++ == kMostRoots || !to_square_root(t)) return false;
  }
  const double power = std::ldexp(1.0, -roots);
  for (std::int64_t i = 0; i < n; ++i) {
    const auto k = static_cast<std::size_t>(i);
    t(i, i) = root_less_one(diagonal[k], roots);
    if (roots > 0 && i + 1 < n)
      t(i, i + 1) = beside[k] * divided_difference_of_power(diagonal[k], diagonal[k + 1], power);
  }
  int degree = 1;
  while (kLargestNorm[static_cast<std::size_t>(degree - 1)] < norm) ++degree;
  const Quadrature q = gauss_legendre(degree);
  const MatrixRef<Complex> sum(sums.data(), n, n);
  for (int k = 0; k < degree; ++k)
    add_fraction(t, q.nodes[static_cast<std::size_t>(k)], q.weights[static_cast<std::size_t>(k)], sum, work);
  for (std::int64_t r = 0; r < n; ++r) {
    const auto k = static_cast<std::size_t>(r);
    for (std::int64_t c = r; c < n; ++c) t(r, c) = sum(r, c) / power;
    t(r, r) = std::log(diagonal[k]);
    if (r + 1 < n) t(r, r + 1) = beside[k] * divided_difference_of_log(diagonal[k], diagonal[k + 1]);
  }
  return true;
}

}  // namespace tern::matrices
