// Loops of complex numbers.
#include <cmath>
#include <complex>
#include <limits>
#include <type_traits>

#include "dtypes/levels.h"
#include "kernels/cpu/pointwise/loops.h"
#include "kernels/cpu/pointwise/scalar_loops.h"

namespace tern::pointwise {
namespace {

/// Multiplies by the four products, without C's rules for infinities: these cost a branch, and PyTorch's vectorized
/// code lacks them, too.
template <class T>
std::complex<T> multiply(std::complex<T> x, std::complex<T> y) {
  return {x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real()};
}

/// Scales both parts by the divisor's larger part first, so no square overflows.
template <class T>
std::complex<T> divide(std::complex<T> x, std::complex<T> y) {
  const T scale = std::max(std::abs(y.real()), std::abs(y.imag()));
  if (scale == 0 || !std::isfinite(scale)) return x / y;
  const T a = x.real() / scale;
  const T b = x.imag() / scale;
  const T c = y.real() / scale;
  const T d = y.imag() / scale;
  const T norm = c * c + d * d;
  return {(a * c + b * d) / norm, (b * c - a * d) / norm};
}

template <class T>
std::complex<T> power(std::complex<T> x, std::complex<T> y) {
  if (y == std::complex<T>(0)) return {T(1), T(0)};
  if (y == std::complex<T>(1)) return x;
  if (y == std::complex<T>(2)) return multiply(x, x);
  if (x == std::complex<T>(0)) return y.real() > 0 ? std::complex<T>(0) : std::pow(x, y);
  return std::pow(x, y);
}

template <class T>
std::complex<T> complex_expm1(std::complex<T> z) {
  // exp(a)cos(b) - 1 = expm1(a)cos(b) - 2 sin(b/2)^2 keeps all digits near zero.
  const T s = std::sin(z.imag() / 2);
  const T m = std::expm1(z.real());
  return {m * std::cos(z.imag()) - 2 * s * s, std::exp(z.real()) * std::sin(z.imag())};
}

template <class T>
std::complex<T> complex_log1p(std::complex<T> z) {
  const T x = z.real();
  const T y = z.imag();
  const std::complex<T> w = T(1) + z;
  if (std::abs(x) > T(0.5) || std::abs(y) > T(0.5)) return std::log(w);
  return {std::log1p(x * (2 + x) + y * y) / 2, std::atan2(y, w.real())};
}

/// Squares of float32 neither overflow nor vanish in double, so no scaling by a branch is needed.
void magnitudes_f32(void* dst, const void* a, const void*, const void*, std::int64_t n) {
  auto* to = static_cast<float*>(dst);
  const auto* from = static_cast<const float*>(a);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  visit_cpu_level([&](auto) __attribute__((always_inline)) {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) {
      const double x = static_cast<double>(from[2 * i]), y = static_cast<double>(from[2 * i + 1]);
      const auto magnitude = static_cast<float>(std::sqrt(x * x + y * y));
      const bool is_infinite = std::abs(from[2 * i]) == kInfinity || std::abs(from[2 * i + 1]) == kInfinity;
      to[i] = is_infinite ? kInfinity : magnitude;  // NaN beside an infinity, too
    }
  });
}

template <class C>
void complex_add(LoopTable& t, DType d) {
  using T = typename C::value_type;
#define TERN_C1(name, expression) t.set(Scalar::name, d, loop1<C, C, [](C x) -> C { return expression; }>);
#define TERN_C2(name, expression) t.set(Scalar::name, d, loop2<C, C, [](C x, C y) -> C { return expression; }>);
  TERN_C2(add, C(x.real() + y.real(), x.imag() + y.imag()))
  TERN_C2(sub, C(x.real() - y.real(), x.imag() - y.imag()))
  TERN_C2(mul, multiply(x, y))
  TERN_C2(div, divide(x, y))
  TERN_C2(pow, power(x, y))
  TERN_C1(neg, -x)
  TERN_C1(conj, std::conj(x))
  TERN_C1(sgn, x == C(0) ? C(0) : x / std::abs(x))
  TERN_C1(sqrt, std::sqrt(x))
  TERN_C1(rsqrt, C(1) / std::sqrt(x))
  TERN_C1(reciprocal, divide(C(1), x))
  TERN_C1(exp, std::exp(x))
  TERN_C1(exp2, std::exp(x * T(0.693147180559945309417232121458)))
  TERN_C1(expm1, complex_expm1(x))
  TERN_C1(log, std::log(x))
  TERN_C1(log2, std::log(x) / T(0.693147180559945309417232121458))
  TERN_C1(log10, std::log10(x))
  TERN_C1(log1p, complex_log1p(x))
  TERN_C1(sin, std::sin(x))
  TERN_C1(cos, std::cos(x))
  TERN_C1(tan, std::tan(x))
  TERN_C1(asin, std::asin(x))
  TERN_C1(acos, std::acos(x))
  TERN_C1(atan, std::atan(x))
  TERN_C1(sinh, std::sinh(x))
  TERN_C1(cosh, std::cosh(x))
  TERN_C1(tanh, std::tanh(x))
  TERN_C1(asinh, std::asinh(x))
  TERN_C1(acosh, std::acosh(x))
  TERN_C1(atanh, std::atanh(x))
  TERN_C1(sigmoid, divide(C(1), C(1) + std::exp(-x)))
#undef TERN_C1
#undef TERN_C2
  if constexpr (std::is_same_v<T, float>) {
    t.set(Scalar::abs, d, magnitudes_f32);
  } else {
    t.set(Scalar::abs, d, loop1<C, T, [](C x) { return std::hypot(x.real(), x.imag()); }>);
  }
  t.set(Scalar::angle, d, loop1<C, T, [](C x) { return std::atan2(x.imag(), x.real()); }>);
  t.set(Scalar::real, d, loop1<C, T, [](C x) { return x.real(); }>);
  t.set(Scalar::imag, d, loop1<C, T, [](C x) { return x.imag(); }>);
  t.set(Scalar::eq, d, loop2<C, bool, [](C x, C y) { return x == y; }>);
  t.set(Scalar::ne, d, loop2<C, bool, [](C x, C y) { return !(x == y); }>);
  t.set(Scalar::isnan, d, loop1<C, bool, [](C x) { return std::isnan(x.real()) || std::isnan(x.imag()); }>);
  t.set(Scalar::isinf, d, loop1<C, bool, [](C x) { return std::isinf(x.real()) || std::isinf(x.imag()); }>);
  const DType part = std::is_same_v<T, float> ? DType::f32 : DType::f64;
  t.set(Scalar::complex, part, loop2<T, C, [](T x, T y) { return C(x, y); }>);
}

}  // namespace

void add_complex_loops(LoopTable& t) {
  complex_add<std::complex<float>>(t, DType::c64);
  complex_add<std::complex<double>>(t, DType::c128);
}

}  // namespace tern::pointwise
