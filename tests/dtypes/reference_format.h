// An independent implementation of the small floats from their published parameters, in double: the reference for the
// codecs.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "dtypes/small_float.h"

namespace tern::test {

enum class TopCodes { infinity_and_nan, one_nan, negative_zero_is_nan, all_finite };

struct ReferenceFormat {
  int exponent_bits, mantissa_bits, bias;
  TopCodes top;
  double largest;   // as published
  double smallest;  // subnormal, as published

  std::uint32_t sign() const { return 1u << (exponent_bits + mantissa_bits); }

  bool is_nan(std::uint32_t code) const {
    const std::uint32_t m = code & (sign() - 1);
    const std::uint32_t infinity = sign() - (1u << mantissa_bits);
    switch (top) {
      case TopCodes::infinity_and_nan: return m > infinity;
      case TopCodes::one_nan: return m == sign() - 1;
      case TopCodes::negative_zero_is_nan: return code == sign();
      case TopCodes::all_finite: return false;
    }
    return false;
  }

  double value(std::uint32_t code) const {
    if (is_nan(code)) return std::numeric_limits<double>::quiet_NaN();
    const std::uint32_t m = code & (sign() - 1);
    const int exponent = static_cast<int>(m >> mantissa_bits);
    const double fraction = static_cast<double>(m % (1u << mantissa_bits)) / (1 << mantissa_bits);
    double v = exponent == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, exponent - bias);
    if (top == TopCodes::infinity_and_nan && exponent == (1 << exponent_bits) - 1) {
      v = std::numeric_limits<double>::infinity();
    }
    return (code & sign()) != 0 ? -v : v;
  }

  /// The non-negative finite values in code order, followed by the first overflowing value.
  std::vector<double> ladder() const {
    std::vector<double> v;
    for (std::uint32_t c = 0; c < sign() && std::isfinite(value(c)); ++c) v.push_back(value(c));
    v.push_back(2 * v.back() - v[v.size() - 2]);
    return v;
  }

  /// Index of `x` on the ladder, rounded to nearest, ties to even; the last index means overflow.
  static std::uint32_t nearest(const std::vector<double>& ladder, double x) {
    const auto up = std::lower_bound(ladder.begin(), ladder.end(), x);
    if (up == ladder.end()) return static_cast<std::uint32_t>(ladder.size() - 1);
    const auto i = static_cast<std::uint32_t>(up - ladder.begin());
    if (i == 0) return 0;
    const double below = x - ladder[i - 1];
    const double above = ladder[i] - x;
    if (below == above) return i % 2 == 0 ? i : i - 1;
    return below < above ? i - 1 : i;
  }
};

template <class T>
inline constexpr ReferenceFormat reference{};
template <>
inline constexpr ReferenceFormat reference<Half>{5, 10, 15, TopCodes::infinity_and_nan, 65504, 0x1p-24};
template <>
inline constexpr ReferenceFormat reference<BFloat16>{8, 7, 127, TopCodes::infinity_and_nan, 0x1.fep127, 0x1p-133};
template <>
inline constexpr ReferenceFormat reference<F8E4M3FN>{4, 3, 7, TopCodes::one_nan, 448, 0x1p-9};
template <>
inline constexpr ReferenceFormat reference<F8E5M2>{5, 2, 15, TopCodes::infinity_and_nan, 57344, 0x1p-16};
template <>
inline constexpr ReferenceFormat reference<F8E4M3FNUZ>{4, 3, 8, TopCodes::negative_zero_is_nan, 240, 0x1p-10};
template <>
inline constexpr ReferenceFormat reference<F8E5M2FNUZ>{5, 2, 16, TopCodes::negative_zero_is_nan, 57344, 0x1p-17};
template <>
inline constexpr ReferenceFormat reference<F6E2M3>{2, 3, 1, TopCodes::all_finite, 7.5, 0.125};
template <>
inline constexpr ReferenceFormat reference<F6E3M2>{3, 2, 3, TopCodes::all_finite, 28, 0.0625};
template <>
inline constexpr ReferenceFormat reference<F4E2M1>{2, 1, 1, TopCodes::all_finite, 6, 0.5};

}  // namespace tern::test
