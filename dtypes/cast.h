// Converts an element between types like PyTorch's CPU kernels, without undefined behaviour.
#pragma once

#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "dtypes/complex_half.h"
#include "dtypes/overflow.h"
#include "dtypes/small_float.h"
#include "dtypes/storage.h"

namespace tern {

/// Truncates toward zero to a signed integer; numbers out of range, and NaN, give the smallest integer, like x86's
/// cvttss2si.
template <class Int, class Float>
constexpr Int truncate_to_signed(Float v) {
  static_assert(std::is_same_v<Int, std::int32_t> || std::is_same_v<Int, std::int64_t>);
  constexpr Float smallest = static_cast<Float>(std::numeric_limits<Int>::min());
  const bool fits = v >= smallest && v < -smallest;
  return static_cast<Int>(fits ? v : smallest);
}

/// PyTorch converts to 8 and 16 bits through int32, to uint8 and uint32 through int64, and keeps the low bits; uint64
/// has its own range above 2^63. (PyTorch's vectorised kernels give other values for uint32 out of range; these values
/// equal the scalar kernels'.)
template <class Int, class Float>
constexpr Int float_to_int(Float v) {
  if constexpr (std::is_same_v<Int, std::uint64_t>) {
    constexpr Float half = static_cast<Float>(9223372036854775808.0);
    const bool upper = v >= half;
    const auto low = static_cast<std::uint64_t>(truncate_to_signed<std::int64_t>(upper ? v - half : v));
    return upper ? low ^ (std::uint64_t{1} << 63) : low;
  } else if constexpr (sizeof(Int) == 8 || std::is_same_v<Int, std::uint8_t> || std::is_same_v<Int, std::uint32_t>) {
    return static_cast<Int>(truncate_to_signed<std::int64_t>(v));
  } else {
    return static_cast<Int>(truncate_to_signed<std::int32_t>(v));
  }
}

namespace cast_detail {

template <class T>
constexpr T real_part(T v) {
  return v;
}
template <class T>
constexpr T real_part(std::complex<T> v) {
  return v.real();
}

/// The arithmetic or std::complex value of `v`. Exact.
template <class T>
constexpr auto widen(T v) {
  if constexpr (is_small_float_v<T>) {
    return static_cast<float>(v);
  } else if constexpr (std::is_same_v<T, ComplexHalf>) {
    return static_cast<std::complex<float>>(v);
  } else {
    return v;
  }
}

}  // namespace cast_detail

/// Converts any storage type to any other. To bool: nonzero values are true, including NaN. Complex to real drops the
/// imaginary part. To a small float: through float, rounding double and 64-bit integers twice, like PyTorch.
template <class To, class From>
constexpr To cast_to(From from, Overflow policy = Overflow::saturate) {
  if constexpr (std::is_same_v<To, From>) {
    return from;
  } else {
    const auto v = cast_detail::widen(from);
    using V = std::remove_const_t<decltype(v)>;
    if constexpr (std::is_same_v<To, bool>) {
      return v != V{};
    } else if constexpr (std::is_same_v<To, ComplexHalf>) {
      const auto c = cast_to<std::complex<float>>(v, policy);
      return ComplexHalf(c);
    } else if constexpr (is_complex_v<To>) {
      using Component = typename To::value_type;
      if constexpr (is_complex_v<V>) {
        return To(static_cast<Component>(v.real()), static_cast<Component>(v.imag()));
      } else {
        return To(static_cast<Component>(v), Component{});
      }
    } else if constexpr (is_small_float_v<To>) {
      return To(static_cast<float>(cast_detail::real_part(v)), policy);
    } else if constexpr (std::is_integral_v<To> && !std::is_integral_v<decltype(cast_detail::real_part(v))>) {
      return float_to_int<To>(cast_detail::real_part(v));
    } else {
      return static_cast<To>(cast_detail::real_part(v));
    }
  }
}

}  // namespace tern
