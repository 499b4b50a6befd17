// Matrices of tiny numbers: BLAS and LAPACK multiply by inverses, which overflow for subnormal numbers.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>

#include "dtypes/real_of.h"

namespace tern::cpu {

/// Power of two: products of subnormal numbers with it are exact, and have finite inverses.
template <class R>
inline constexpr R kLift = sizeof(R) == 4 ? R(0x1p90) : R(0x1p600);

/// The largest real or imaginary part. NaN counts as zero.
template <class T>
typename RealOf<T>::type largest_part(const T* x, std::int64_t n) {
  typename RealOf<T>::type most(0);
  for (std::int64_t i = 0; i < n; ++i) most = std::max({most, std::abs(std::real(x[i])), std::abs(std::imag(x[i]))});
  return most;
}

/// True if numbers of this size lose digits or have infinite inverses. False for zero.
template <class R>
bool is_tiny(R largest) {
  return largest > 0 && largest < std::numeric_limits<R>::min() / std::numeric_limits<R>::epsilon();
}

/// True if the inverse of some element x[0], x[step] ... x[(n - 1) step] overflows. False for zeros.
template <class T>
bool has_infinite_inverse(const T* x, std::int64_t n, std::int64_t step) {
  for (std::int64_t i = 0; i < n; ++i) {
    const auto part = largest_part(x + i * step, 1);
    if (part > 0 && part < 4 * std::numeric_limits<decltype(part + 0)>::min()) return true;
  }
  return false;
}

/// x / d for any d but zero, without the overflow of 1 / d or of complex squares.
template <class T>
T quotient_by_tiny(T x, T d) {
  if constexpr (std::is_floating_point_v<T>) {
    return x / d;
  } else {
    const auto part = largest_part(&d, 1);
    if (!(part > 0) || !std::isfinite(part)) return x / d;
    const int exponent = -std::ilogb(part);
    const auto scaled = [&](T z) { return T(std::ldexp(z.real(), exponent), std::ldexp(z.imag(), exponent)); };
    return scaled(x) / scaled(d);
  }
}

}  // namespace tern::cpu
