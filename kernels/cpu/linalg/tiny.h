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

/// The larger of the sizes of the real and the imaginary part.
template <class T>
typename RealOf<T>::type largest_part(T x) {
  return std::max(std::abs(std::real(x)), std::abs(std::imag(x)));
}

enum class Magnitude { zero, tiny, ordinary };

/// Tiny numbers lose digits or have infinite inverses. Ends at the first element of ordinary size.
template <class T>
Magnitude magnitude_of(const T* x, std::int64_t n) {
  using R = typename RealOf<T>::type;
  Magnitude found = Magnitude::zero;
  for (std::int64_t i = 0; i < n; ++i) {
    const R part = largest_part(x[i]);
    if (part == 0) continue;
    found = Magnitude::tiny;
    if (!(part < std::numeric_limits<R>::min() / std::numeric_limits<R>::epsilon())) return Magnitude::ordinary;
  }
  return found;
}

/// True if the inverse of some element x[0], x[step] ... x[(n - 1) step] overflows. False for zeros.
template <class T>
bool has_infinite_inverse(const T* x, std::int64_t n, std::int64_t step) {
  for (std::int64_t i = 0; i < n; ++i) {
    const auto part = largest_part(x[i * step]);
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
    const auto part = largest_part(d);
    if (!(part > 0) || !std::isfinite(part)) return x / d;
    const int exponent = -std::ilogb(part);
    const auto scaled = [&](T z) { return T(std::ldexp(z.real(), exponent), std::ldexp(z.imag(), exponent)); };
    return scaled(x) / scaled(d);
  }
}

}  // namespace tern::cpu
