#include "runtime/matrices/triangular_functions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

namespace tern::matrices {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr int kMaxRoots = 1100;  // the logarithm of a double needs fewer

/// Largest bound alpha of powers of X for which the Pade approximant of log(1 + X) of degree k + 1 is exact in double
/// precision (Al-Mohy and Higham, 2012, table 2.1).
constexpr std::array<double, 7> kLargestBound = {1.59e-5, 2.31e-3, 1.94e-2, 6.21e-2, 1.28e-1, 2.06e-1, 2.88e-1};

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

/// Powers of X = T - 1, for upper triangular T.
class Powers {
 public:
  explicit Powers(MatrixRef<const Complex> t) : n_(t.rows), x_(square()), power_(x_) {
    for (std::int64_t r = 0; r < n_; ++r) {
      for (std::int64_t c = r; c < n_; ++c) x_[index(r, c)] = t(r, c) - (r == c ? 1.0 : 0.0);
    }
    power_ = x_;
  }
  /// The exponent-th root of the 1-norm of X^exponent; exponents rise from call to call.
  double root_of_norm(int exponent) {
    for (; exponent_ < exponent; ++exponent_) multiply();
    double most = 0;
    for (std::int64_t c = 0; c < n_; ++c) {
      double sum = 0;
      for (std::int64_t r = 0; r <= c; ++r) sum += std::abs(power_[index(r, c)]);
      most = std::max(most, sum);
    }
    return std::pow(most, 1.0 / exponent);
  }

 private:
  std::size_t index(std::int64_t r, std::int64_t c) const { return static_cast<std::size_t>(r * n_ + c); }
  std::vector<Complex> square() const { return std::vector<Complex>(static_cast<std::size_t>(n_ * n_)); }
  void multiply() {
    std::vector<Complex> next = square();
    for (std::int64_t r = 0; r < n_; ++r) {
      for (std::int64_t k = r; k < n_; ++k) {
        const Complex factor = power_[index(r, k)];
        for (std::int64_t c = k; c < n_; ++c) next[index(r, c)] += factor * x_[index(k, c)];
      }
    }
    power_ = std::move(next);
  }

  std::int64_t n_;
  std::vector<Complex> x_, power_;
  int exponent_ = 1;
};

/// Smallest degree of an approximant for this bound, at least `least`; 8: none.
int degree_for(double bound, int least) {
  int degree = least;
  while (degree <= 7 && !(bound <= kLargestBound[static_cast<std::size_t>(degree - 1)])) ++degree;
  return degree;
}

/// Takes square roots of T until an approximant serves, and returns its degree and their number (Al-Mohy and Higham,
/// 2012, algorithm 4.1). Degree 0: T has no root.
struct Reduced {
  int degree = 0, roots = 0;
};
Reduced reduce_to_identity(MatrixRef<Complex> t) {
  Reduced found;
  const auto take_root = [&] { return found.roots++ < kMaxRoots && to_square_root(t); };
  const auto eigenvalue_distance = [&] {
    double most = 0;
    for (std::int64_t i = 0; i < t.rows; ++i) most = std::max(most, std::abs(t(i, i) - 1.0));
    return most;
  };
  while (eigenvalue_distance() > kLargestBound.back()) {
    if (!take_root()) return {};
  }
  for (int chances = 2;;) {
    Powers powers(MatrixRef<const Complex>(t.data, t.rows, t.rows));
    const double second = powers.root_of_norm(2), third = powers.root_of_norm(3), two = std::max(second, third);
    found.degree = degree_for(two, 1);
    if (found.degree <= 2) return found;
    const double fourth = powers.root_of_norm(4), three = std::max(third, fourth);
    if (three <= kLargestBound.back()) {
      found.degree = degree_for(three, 3);
      if (found.degree <= 6) return found;
      if (three / 2 <= kLargestBound[4] && chances-- > 0) {
        if (!take_root()) return {};
        continue;
      }
    }
    found.degree = degree_for(std::min(three, std::max(fourth, powers.root_of_norm(5))), 6);
    if (found.degree <= 7) return found;
    if (!take_root()) return {};
  }
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
  const auto [degree, roots] = reduce_to_identity(t);
  if (degree == 0) return false;
  const double power = std::ldexp(1.0, -roots);
  for (std::int64_t i = 0; i < n; ++i) {
    const auto k = static_cast<std::size_t>(i);
    t(i, i) = root_less_one(diagonal[k], roots);
    if (roots > 0 && i + 1 < n)
      t(i, i + 1) = beside[k] * divided_difference_of_power(diagonal[k], diagonal[k + 1], power);
  }
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
