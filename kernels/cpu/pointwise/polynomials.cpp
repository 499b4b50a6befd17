// Orthogonal polynomials of x, of degree n (truncated to an integer; a negative degree gives 0), by recurrence
// (Abramowitz and Stegun, 22.7), or for Chebyshev polynomials of high degrees within -1..1 by their definition as
// cosines. Computed in the operands' type, as in PyTorch.
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/cpu/pointwise/loops.h"
#include "kernels/cpu/pointwise/scalar_loops.h"

namespace tern::pointwise {
namespace {

constexpr std::int64_t kMaxDegree = 1 << 20;  // longest recurrence; higher degrees give NaN

template <class T>
constexpr T kNaN = std::numeric_limits<T>::quiet_NaN();

/// Runs the recurrence from degrees 0 and 1: next(k, q, p) is the polynomial of degree k + 1 from degrees k and k - 1.
template <class T, class Next>
T recur(std::int64_t n, T first, Next next) {
  if (n < 0) return 0;
  if (n == 0) return 1;
  if (n > kMaxDegree) return kNaN<T>;
  T p = 1;
  T q = first;
  for (std::int64_t k = 1; k < n; ++k) {
    const T r = next(static_cast<T>(k), q, p);
    p = q;
    q = r;
  }
  return q;
}

template <class T>
T chebyshev(std::int64_t n, T x, T first) {
  return recur(n, first, [x](T, T q, T p) { return (x + x) * q - p; });
}

bool even(std::int64_t n) {
  return n % 2 == 0;
}

template <class T>
T chebyshev_t(T x, std::int64_t n) {
  if (n < 0) return 0;
  if (std::abs(x) == 1) return x > 0 || even(n) ? 1 : -1;
  if (n > 6 && std::abs(x) < 1) return std::cos(static_cast<T>(n) * std::acos(x));
  return chebyshev(n, x, x);
}

template <class T>
T chebyshev_u(T x, std::int64_t n) {
  if (n < 0) return 0;
  const T count = static_cast<T>(n + 1);
  if (std::abs(x) == 1) return x > 0 || even(n) ? count : -count;
  if (n > 8 && std::abs(x) < 1) {
    const T angle = std::acos(x);
    if (std::sin(angle) != 0) return std::sin(count * angle) / std::sin(angle);
    return count * std::cos(count * angle) / x;
  }
  return chebyshev(n, x, x + x);
}

template <class T>
T chebyshev_v(T x, std::int64_t n) {
  if (n < 0) return 0;
  const T odd = static_cast<T>(n + n + 1);
  if (std::abs(x) == 1) return x > 0 ? 1 : even(n) ? odd : -odd;
  if (n > 8 && std::abs(x) < 1) {
    const T angle = std::acos(x);
    if (std::sin(angle / 2) != 1) return std::cos((static_cast<T>(n) + T(0.5)) * angle) / std::cos(angle / 2);
    return even(n) ? odd : -odd;
  }
  return chebyshev(n, x, x + x - 1);
}

template <class T>
T chebyshev_w(T x, std::int64_t n) {
  if (n < 0) return 0;
  const T odd = static_cast<T>(n + n + 1);
  if (std::abs(x) == 1) return x > 0 ? odd : even(n) ? 1 : -1;
  if (n > 8 && std::abs(x) < 1) {
    const T angle = std::acos(x);
    if (std::cos(angle / 2) != 1) return std::sin((static_cast<T>(n) + T(0.5)) * angle) / std::sin(angle / 2);
    return x > 0 ? odd : even(n) ? 1 : -1;
  }
  return chebyshev(n, x, x + x + 1);
}

/// Higher degrees overflow the type for all but the smallest x: PyTorch's limit.
template <class T>
constexpr std::int64_t kMaxHermite = std::is_same_v<T, float> ? 128 : 512;

template <class T>
T hermite_h(T x, std::int64_t n) {
  if (n > kMaxHermite<T>) return kNaN<T>;
  return recur(n, x + x, [x](T k, T q, T p) { return (x + x) * q - (k + k) * p; });
}

template <class T>
T hermite_he(T x, std::int64_t n) {
  if (n > kMaxHermite<T>) return kNaN<T>;
  return recur(n, x, [x](T k, T q, T p) { return std::fma(x, q, -(k * p)); });
}

template <class T>
T laguerre_l(T x, std::int64_t n) {
  if (n < 0) return 0;
  if (x == 0) return 1;
  return recur(n, 1 - x, [x](T k, T q, T p) { return ((k + k + (1 - x)) * q - k * p) / (k + 1); });
}

template <class T>
T legendre_p(T x, std::int64_t n) {
  if (n < 0) return 0;
  if (std::abs(x) == 1) return x > 0 || even(n) ? 1 : -1;
  return recur(n, x, [x](T k, T q, T p) { return ((k + k + 1) * x * q - k * p) / (k + 1); });
}

template <class T, T (*kF)(T, std::int64_t)>
T of_degree(T x, T n) {
  const bool whole = n > T(-9e18) && n < T(9e18);  // false for NaN
  return whole ? kF(x, static_cast<std::int64_t>(n)) : kNaN<T>;
}

template <class T, T (*kF)(T, std::int64_t)>
constexpr Loop kLoop = loop2<T, T, of_degree<T, kF>>;

template <class T>
void add(LoopTable& t, DType d) {
  t.set(Scalar::chebyshev_t, d, kLoop<T, chebyshev_t<T>>);
  t.set(Scalar::chebyshev_u, d, kLoop<T, chebyshev_u<T>>);
  t.set(Scalar::chebyshev_v, d, kLoop<T, chebyshev_v<T>>);
  t.set(Scalar::chebyshev_w, d, kLoop<T, chebyshev_w<T>>);
  t.set(Scalar::hermite_h, d, kLoop<T, hermite_h<T>>);
  t.set(Scalar::hermite_he, d, kLoop<T, hermite_he<T>>);
  t.set(Scalar::laguerre_l, d, kLoop<T, laguerre_l<T>>);
  t.set(Scalar::legendre_p, d, kLoop<T, legendre_p<T>>);
}

}  // namespace

void add_polynomial_loops(LoopTable& t) {
  add<float>(t, DType::f32);
  add<double>(t, DType::f64);
}

}  // namespace tern::pointwise
