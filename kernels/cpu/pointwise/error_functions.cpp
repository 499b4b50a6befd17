#include <cmath>
#include <limits>
#include <numbers>

#include "kernels/cpu/pointwise/special.h"

namespace tern::special {
namespace {

constexpr double kTwoOverRootPi = 2 * std::numbers::inv_sqrtpi;

/// Inverts erfc on (0, 1]: Hastings's approximation (Abramowitz and Stegun, 26.2.23), then Halley's steps.
double erfc_inverse(double q) {
  const double t = std::sqrt(-2 * std::log(q / 2));
  double x = (t - (2.30753 + t * 0.27061) / (1 + t * (0.99229 + t * 0.04481))) / std::numbers::sqrt2;
  for (int i = 0; i < 4; ++i) {
    const double error = std::erfc(x) - q;
    const double slope = kTwoOverRootPi * std::exp(-x * x);
    if (slope == 0) break;
    x += error / (slope - x * error);
  }
  return x;
}

}  // namespace

double erfinv(double y) {
  const double a = std::abs(y);
  if (!(a <= 1)) return kNaN;
  if (a == 1) return std::copysign(kInfinity, y);
  if (a > 0.5) return std::copysign(erfc_inverse(1 - a), y);
  double x = y / kTwoOverRootPi;
  for (int i = 0; i < 5; ++i) {
    const double step = (std::erf(x) - y) / (kTwoOverRootPi * std::exp(-x * x));
    x -= step / (1 + x * step);
  }
  return x;
}

double ndtri(double p) {
  if (!(p >= 0 && p <= 1)) return kNaN;
  if (p == 0) return -kInfinity;
  if (p == 1) return kInfinity;
  if (p <= 0.25) return -std::numbers::sqrt2 * erfc_inverse(2 * p);
  if (p >= 0.75) return std::numbers::sqrt2 * erfc_inverse(2 * (1 - p));
  return std::numbers::sqrt2 * erfinv(2 * p - 1);
}

double erfcx(double x) {
  if (x < 10) return std::exp(x * x) * std::erfc(x);
  // 1 / (x sqrt(pi)) * (1 - 1/(2x^2) + 1*3/(2x^2)^2 - ...): for x >= 10 the terms vanish before they grow.
  const double z = 1 / (2 * x * x);
  double sum = 1;
  double term = 1;
  for (int k = 1; k < 30; ++k) {
    term *= -(2 * k - 1) * z;
    sum += term;
    if (std::abs(term) < 1e-17) break;
  }
  return sum * std::numbers::inv_sqrtpi / x;
}

double log_ndtr(double x) {
  const double t = x / std::numbers::sqrt2;
  if (x < -1) return std::log(erfcx(-t) / 2) - t * t;
  return std::log1p(-std::erfc(t) / 2);
}

}  // namespace tern::special
