// Conversion between binary32 and a small floating format, with PyTorch's bits on a CPU: the scalar definition.
#pragma once

#include <bit>
#include <cstdint>

#include "dtypes/float_format.h"
#include "dtypes/overflow.h"

namespace tern {
namespace float_codec {

inline constexpr std::uint32_t kInfinity32 = 0x7f800000u;

/// The magnitude of `a` (the bits of a non-negative finite binary32) in the format's steps, rounded to nearest, ties to
/// even. The exponent range is not bounded above: the caller checks the result.
template <class F>
constexpr std::uint32_t round_magnitude(std::uint32_t a) {
  constexpr int shift = 23 - F::mantissa;
  const std::uint32_t odd = (a >> shift) & 1;
  // A carry out of the mantissa moves into the exponent, and so rounds up to the next power of two.
  const std::uint32_t normal =
      ((a + ((1u << (shift - 1)) - 1) + odd) >> shift) - (static_cast<std::uint32_t>(127 - F::bias) << F::mantissa);
  if constexpr (F::bias == 127) {
    return normal;
  } else {
    constexpr std::uint32_t smallest_normal = static_cast<std::uint32_t>(128 - F::bias) << 23;
    // Adding a number with a last bit worth the smallest subnormal makes the hardware round to this bit.
    constexpr std::uint32_t magic = static_cast<std::uint32_t>(127 + 1 - F::bias - F::mantissa + 23) << 23;
    const float clamped = std::bit_cast<float>(a < smallest_normal ? a : 0u);
    const std::uint32_t subnormal = std::bit_cast<std::uint32_t>(clamped + std::bit_cast<float>(magic)) - magic;
    return a < smallest_normal ? subnormal : normal;
  }
}

/// The code of a NaN. binary16 keeps the leading bits, like the instructions of x86 and Arm; formats without NaN give
/// their largest number, like NVIDIA's cvt.satfinite.
template <class F>
constexpr std::uint32_t encode_nan(std::uint32_t bits) {
  const std::uint32_t sign = (bits >> 31) << (F::exponent + F::mantissa);
  if constexpr (F::mantissa == 10) return sign | 0x7e00u | ((bits >> 13) & 0x1ffu);
  if constexpr (F::exponent == 8) return 0x7fc0u;
  if constexpr (F::special == Special::fnuz) return Codes<F>::sign;
  if constexpr (F::special == Special::finite) return Codes<F>::largest;
  return sign | Codes<F>::magnitude;
}

/// True for bfloat16, the upper half of binary32.
template <class F>
inline constexpr bool kIsUpperHalf = F::exponent == 8 && F::mantissa == 7 && F::special == Special::ieee;

template <class F>
constexpr typename F::Bits encode(float value, Overflow policy) {
  using C = Codes<F>;
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t a = bits & 0x7fffffffu;
  if constexpr (kIsUpperHalf<F>) {
    // The sign stays where it is: only a NaN could carry into it.
    const std::uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1)) >> 16;
    return static_cast<typename F::Bits>(a > kInfinity32 ? encode_nan<F>(bits) : rounded);
  }
  const std::uint32_t sign = (bits >> 31) << (F::exponent + F::mantissa);
  std::uint32_t m = round_magnitude<F>(a);
  if constexpr (F::special == Special::ieee) {
    m = m > C::infinity ? C::infinity : m;
    m |= sign;
  } else if constexpr (F::special == Special::fn) {
    m = m > C::largest ? (policy == Overflow::saturate ? C::largest : C::magnitude) : m;
    m |= sign;
  } else if constexpr (F::special == Special::fnuz) {
    m = m > C::largest ? C::sign : m == 0 ? 0 : m | sign;
  } else {
    m = m > C::largest ? C::largest : m;
    m |= sign;
  }
  return static_cast<typename F::Bits>(a > kInfinity32 ? encode_nan<F>(bits) : m);
}

/// Bits above the format's own are ignored (the unused two of the 6-bit types).
template <class F>
constexpr float decode(typename F::Bits code) {
  using C = Codes<F>;
  constexpr int shift = 23 - F::mantissa;
  if constexpr (kIsUpperHalf<F>) return std::bit_cast<float>(static_cast<std::uint32_t>(code) << shift);
  const std::uint32_t m = code & C::magnitude;
  const std::uint32_t sign = static_cast<std::uint32_t>((code & C::sign) != 0) << 31;
  std::uint32_t bits = (m << shift) + (static_cast<std::uint32_t>(127 - F::bias) << 23);
  if constexpr (F::bias != 127) {
    // A subnormal is its mantissa times the smallest step: an exact product.
    constexpr float step = std::bit_cast<float>(static_cast<std::uint32_t>(127 + 1 - F::bias - F::mantissa) << 23);
    const float subnormal = static_cast<float>(static_cast<std::int32_t>(m)) * step;
    bits = m < (1u << F::mantissa) ? std::bit_cast<std::uint32_t>(subnormal) : bits;
    if constexpr (F::special == Special::ieee) {
      // A signalling NaN becomes quiet, like with the instructions.
      bits = m >= C::infinity ? (kInfinity32 | (m << shift) | (m > C::infinity ? 0x00400000u : 0u)) : bits;
    }
  }
  if constexpr (F::special == Special::fn) bits = m == C::magnitude ? 0x7ff00000u : bits;
  bits |= sign;
  if constexpr (F::special == Special::fnuz) bits = (code & (C::sign | C::magnitude)) == C::sign ? 0x7f800001u : bits;
  return std::bit_cast<float>(bits);
}

}  // namespace float_codec
}  // namespace tern
