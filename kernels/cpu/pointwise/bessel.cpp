#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "kernels/cpu/pointwise/special.h"
#include "platform/special_functions.h"

namespace tern::special {
namespace {

// Smallest x with full precision from the asymptotic series: the terms vanish before they grow.
constexpr double kFar = 20;

/// Computes I_n(x) for n 0 or 1 and 0 <= x <= kFar: Abramowitz and Stegun, 9.6.10; every term is positive.
double i_series(int n, double x) {
  const double z = x * x / 4;
  double term = n == 0 ? 1 : x / 2;
  double sum = term;
  for (int k = 1; k < 200; ++k) {
    term *= z / (k * (k + n));
    sum += term;
    if (term < sum * 1e-17) break;
  }
  return sum;
}

/// Computes the sum in Hankel's expansions, 9.7.1 and 9.7.2, of I_n (sign -1, without exp(x) / sqrt(2 pi x)) or K_n
/// (sign 1, without sqrt(pi / 2x) exp(-x)).
double hankel_sum(int n, double x, double sign) {
  const double mu = 4.0 * n * n;
  double term = 1;
  double sum = 1;
  for (int k = 1; k < 40; ++k) {
    const double odd = 2 * k - 1;
    const double next = term * sign * (mu - odd * odd) / (8 * x * k);
    if (std::abs(next) >= std::abs(term)) break;
    term = next;
    sum += term;
    if (std::abs(term) < 1e-17) break;
  }
  return sum;
}

/// exp(-x) I_n(x), x >= 0
double i_scaled(int n, double x) {
  if (x <= kFar) return std::exp(-x) * i_series(n, x);
  if (std::isinf(x)) return 0;
  return hankel_sum(n, x, -1) / std::sqrt(2 * kPi * x);
}
double i_plain(int n, double x) {
  if (x <= kFar) return i_series(n, x);
  // Multiplies by two factors: exp(x) overflows before the result does.
  const double half = std::exp(x / 2);
  return std::isinf(x) ? x : hankel_sum(n, x, -1) / std::sqrt(2 * kPi * x) * half * half;
}

double modified_bessel_k(double order, double x) {
#ifdef __cpp_lib_math_special_functions
  return std::cyl_bessel_k(order, x);
#else
  return modified_bessel_k_integral(order, x);  // libc++
#endif
}

double k_plain(int n, double x) {
  if (std::isnan(x) || x < 0) return kNaN;
  if (x == 0) return kInfinity;
  if (std::isinf(x)) return 0;
  if (x < 1e-300) return n == 0 ? -std::log(x / 2) - std::numbers::egamma : 1 / x;
  if (x <= kFar) return modified_bessel_k(static_cast<double>(n), x);
  return hankel_sum(n, x, 1) * std::sqrt(kPi / (2 * x)) * std::exp(-x);
}
double k_scaled(int n, double x) {
  if (!(x > kFar)) return k_plain(n, x) * std::exp(x);
  return std::isinf(x) ? 0 : hankel_sum(n, x, 1) * std::sqrt(kPi / (2 * x));
}

/// Abramowitz and Stegun, 10.4.2 and 10.4.3.
double airy_series(double x) {
  constexpr double kAtZero = 0.355028053887817239260;
  constexpr double kSlope = 0.258819403792806798405;  // minus Ai'(0)
  const double z = x * x * x;
  double f = 1, g = x, tf = 1, tg = x;
  for (int k = 1; k < 100; ++k) {
    tf *= z / ((3.0 * k - 1) * (3.0 * k));
    tg *= z / ((3.0 * k) * (3.0 * k + 1));
    f += tf;
    g += tg;
    if (std::abs(tf) + std::abs(tg) < 1e-18 * (std::abs(f) + std::abs(g))) break;
  }
  return kAtZero * f - kSlope * g;
}

/// The coefficients c(k) / zeta^k of 10.4.58, summed with the signs of `step` for even and odd k.
struct AirySums {
  double even = 0, odd = 0, alternating = 0;
};
AirySums airy_sums(double zeta) {
  AirySums s;
  double term = 1;
  for (int k = 0; k < 40; ++k) {
    const double sign = (k / 2) % 2 == 0 ? 1 : -1;
    (k % 2 == 0 ? s.even : s.odd) += sign * term;
    s.alternating += k % 2 == 0 ? term : -term;
    const double next = term * (6.0 * k + 1) * (6.0 * k + 3) * (6.0 * k + 5) / (216.0 * (k + 1) * (2.0 * k + 1)) / zeta;
    if (next >= term || next < 1e-18) break;
    term = next;
  }
  return s;
}

}  // namespace

double modified_bessel_k_integral(double order, double x) {
  // cosh t - 1 = 2 sinh(t / 2)^2. The trapezoidal rule converges exponentially if the step is below the width of the
  // integrand's peak.
  const double step = std::min(0.2, 0.6 / std::sqrt(x));
  double sum = 0.5;
  for (double t = step;; t += step) {
    const double s = std::sinh(t / 2);
    const double term = std::exp(-2 * x * s * s) * std::cosh(order * t);
    sum += term;
    if (term < 1e-18 * sum) break;
  }
  return sum * step * std::exp(-x);
}

double i0(double x) {
  return i_plain(0, std::abs(x));
}
double i0e(double x) {
  return i_scaled(0, std::abs(x));
}
double i1(double x) {
  return std::copysign(i_plain(1, std::abs(x)), x);
}
double i1e(double x) {
  return std::copysign(i_scaled(1, std::abs(x)), x);
}

double j0(double x) {
  return platform::bessel_j0(x);
}
double j1(double x) {
  return platform::bessel_j1(x);
}
double y0(double x) {
  return x == 0 ? -kInfinity : x < 0 ? kNaN : platform::bessel_y0(x);
}
double y1(double x) {
  return x == 0 ? -kInfinity : x < 0 ? kNaN : platform::bessel_y1(x);
}
double k0(double x) {
  return k_plain(0, x);
}
double k1(double x) {
  return k_plain(1, x);
}
double k0e(double x) {
  return k_scaled(0, x);
}
double k1e(double x) {
  return k_scaled(1, x);
}

double spherical_j0(double x) {
  if (std::isinf(x)) return 0;
  if (std::abs(x) < 1e-4) return 1 - x * x / 6;
  return std::sin(x) / x;
}

double airy_ai(double x) {
  if (std::isnan(x)) return x;
  if (x >= -8 && x <= 2) return airy_series(x);
  const double a = std::abs(x);
  const double zeta = 2 * a * std::sqrt(a) / 3;
  if (x > 2) {
    if (zeta > 760) return 0;
    if (zeta <= 18) return std::sqrt(x / 3) * modified_bessel_k(1.0 / 3, zeta) / kPi;
    return std::exp(-zeta) * airy_sums(zeta).alternating / (2 * std::sqrt(kPi) * std::sqrt(std::sqrt(x)));
  }
  if (std::isinf(x)) return 0;
  // 10.4.60
  const AirySums s = airy_sums(zeta);
  const double angle = zeta + kPi / 4;
  return (std::sin(angle) * s.even - std::cos(angle) * s.odd) / (std::sqrt(kPi) * std::sqrt(std::sqrt(a)));
}

}  // namespace tern::special
