// Accumulator types of compute types: double for floating-point numbers, so the order of addition hardly matters.
#pragma once

#include <complex>
#include <cstdint>
#include <type_traits>

namespace tern {

template <class L>
struct WideOf {
  using type = std::uint64_t;  // integers wrap
};
template <>
struct WideOf<float> {
  using type = double;
};
template <>
struct WideOf<double> {
  using type = double;
};
template <>
struct WideOf<std::complex<float>> {
  using type = std::complex<double>;
};
template <>
struct WideOf<std::complex<double>> {
  using type = std::complex<double>;
};
template <class L>
using wide_t = typename WideOf<L>::type;

template <class T>
inline constexpr bool is_std_complex_v = false;
template <class T>
inline constexpr bool is_std_complex_v<std::complex<T>> = true;

template <class L>
constexpr bool is_nan(L v) {
  if constexpr (std::is_floating_point_v<L>) return v != v;
  return false;
}

/// A sum; integers wrap.
template <class T>
constexpr T plus(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  } else {
    return a + b;
  }
}

/// A quotient; integers wrap. The divisor is not an integer zero.
template <class T>
constexpr T quotient(T a, T b) {
  if constexpr (std::is_signed_v<T> && std::is_integral_v<T>) {
    if (b == -1) return static_cast<T>(0 - static_cast<std::uint64_t>(a));
  }
  return a / b;
}

/// A product; integers wrap. Complex numbers skip the library's treatment of infinities, as in PyTorch.
template <class T>
T times(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  } else if constexpr (is_std_complex_v<T>) {
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  } else {
    return a * b;
  }
}

}  // namespace tern
