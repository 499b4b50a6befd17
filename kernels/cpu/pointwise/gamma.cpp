#include <cmath>
#include <limits>
#include <numbers>

#include "kernels/cpu/pointwise/special.h"
#include "platform/special_functions.h"

namespace tern::special {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon() / 2;
constexpr int kMostTerms = 20000;

/// Sums above 0.5; below, reflects with a sine in T: close to a pole PyTorch's float results contain a rounded product
/// with pi.
template <class T>
double trigamma(double x) {
  double sign = 1;
  double result = 0;
  if (x < 0.5) {
    sign = -1;
    const T s = std::sin(static_cast<T>(kPi) * static_cast<T>(x));
    result -= kPi * kPi / (s * s);
    x = 1 - x;
  }
  while (x < 12) {
    result += 1 / (x * x);
    x += 1;
  }
  // Abramowitz and Stegun, 6.4.12.
  const double z = 1 / (x * x);
  const double tail = z * (1.0 / 6 - z * (1.0 / 30 - z * (1.0 / 42 - z * (1.0 / 30 - z * (5.0 / 66)))));
  return sign * (result + (1 + 1 / (2 * x) + tail) / x);
}

/// x^a exp(-x) / gamma(a)
double density(double a, double x) {
  return std::exp(a * std::log(x) - x - lgamma(a));
}

/// Abramowitz and Stegun, 6.5.29; for x < a + 1.
double lower_series(double a, double x) {
  double term = 1 / a;
  double sum = term;
  for (int n = 1; n < kMostTerms && std::abs(term) > kEpsilon * std::abs(sum); ++n) {
    term *= x / (a + n);
    sum += term;
  }
  return density(a, x) * sum;
}

/// Evaluates the continued fraction of Abramowitz and Stegun, 6.5.31, by Lentz's method; for x >= a + 1.
double upper_fraction(double a, double x) {
  constexpr double tiny = 1e-300;
  double b = x + 1 - a;
  double c = 1 / tiny;
  double d = 1 / b;
  double h = d;
  for (int n = 1; n < kMostTerms; ++n) {
    const double an = -n * (n - a);
    b += 2;
    d = an * d + b;
    if (std::abs(d) < tiny) d = tiny;
    c = b + an / c;
    if (std::abs(c) < tiny) c = tiny;
    d = 1 / d;
    h *= d * c;
    if (std::abs(d * c - 1) < kEpsilon) break;
  }
  return density(a, x) * h;
}

}  // namespace

double lgamma(double x) {
  return platform::log_gamma(x);
}

double digamma(double x) {
  if (x == 0) return std::copysign(kInfinity, -x);
  double result = 0;
  if (x < 0) {
    double whole = 0;
    const double rest = std::modf(x, &whole);
    if (rest == 0 || !std::isfinite(x)) return kNaN;
    result = -kPi / std::tan(kPi * rest);
    x = 1 - x;
  }
  while (x < 10) {
    result -= 1 / x;
    x += 1;
  }
  // Abramowitz and Stegun, 6.3.18.
  const double z = 1 / (x * x);
  const double tail =
      z * (1.0 / 12 - z * (1.0 / 120 -
                           z * (1.0 / 252 - z * (1.0 / 240 - z * (1.0 / 132 - z * (691.0 / 32760 - z * (1.0 / 12)))))));
  return result + std::log(x) - 0.5 / x - tail;
}

template <class T>
double polygamma(double n, double x) {
  if (!(n >= 0) || n != std::floor(n)) return kNaN;
  if (n == 0) return digamma(x);
  if (n == 1) return trigamma<T>(x);
  const double sign = std::fmod(n, 2) == 0 ? -1 : 1;
  return sign * std::exp(lgamma(n + 1)) * zeta(n + 1, x);
}
template double polygamma<float>(double, double);
template double polygamma<double>(double, double);

double zeta(double s, double q) {
  if (std::isnan(s) || std::isnan(q)) return kNaN;
  if (s == 1) return kInfinity;
  if (s < 1) return kNaN;
  if (q <= 0) {
    if (q == std::floor(q)) return kInfinity;
    if (s != std::floor(s)) return kNaN;
    if (q < -1e6) return kNaN;  // the sum would have a million terms or more
  }
  // Euler-Maclaurin: sums at least ten terms directly, then corrections with (2k)! / B(2k).
  static constexpr double kDenominators[] = {12.0,
                                             -720.0,
                                             30240.0,
                                             -1209600.0,
                                             47900160.0,
                                             -1892437580.3183791606,
                                             74724249600.0,
                                             -2950130727918.1642,
                                             116467828143500.67,
                                             -4597978722407472.6,
                                             181521054019435467.7,
                                             -7166165256175667011.0};
  double sum = std::pow(q, -s);
  double a = q;
  double term = 0;
  for (int i = 0; i < 9 || a <= 9; ++i) {
    a += 1;
    term = std::pow(a, -s);
    sum += term;
    if (std::abs(term) < kEpsilon * std::abs(sum)) return sum;
  }
  sum += term * a / (s - 1) - 0.5 * term;
  double factor = 1;
  double k = 0;
  for (double d : kDenominators) {
    factor *= s + k;
    term /= a;
    const double t = factor * term / d;
    sum += t;
    if (std::abs(t) < kEpsilon * std::abs(sum)) break;
    factor *= s + k + 1;
    term /= a;
    k += 2;
  }
  return sum;
}

double igamma(double a, double x) {
  if (!(a >= 0) || !(x >= 0)) return kNaN;
  if (a == 0) return x > 0 ? 1 : kNaN;
  if (x == 0) return 0;
  if (std::isinf(a)) return std::isinf(x) ? kNaN : 0;
  if (std::isinf(x)) return 1;
  return x < a + 1 ? lower_series(a, x) : 1 - upper_fraction(a, x);
}

double igammac(double a, double x) {
  if (!(a >= 0) || !(x >= 0)) return kNaN;
  if (a == 0) return x > 0 ? 0 : kNaN;
  if (x == 0) return 1;
  if (std::isinf(a)) return std::isinf(x) ? kNaN : 1;
  if (std::isinf(x)) return 0;
  return x < a + 1 ? 1 - lower_series(a, x) : upper_fraction(a, x);
}

}  // namespace tern::special
