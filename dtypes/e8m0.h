// float8_e8m0fnu: a power of two, the scale of an MX block (OCP MX 1.0, 5.4.1).
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "dtypes/overflow.h"

namespace tern {

struct F8E8M0 {
  std::uint8_t bits;

  F8E8M0() = default;
  /// Drops the sign and rounds the exponent to the nearest, ties up: 1.4 -> 1, 1.5 -> 2. Zero and 2^-127 give code 0;
  /// infinity, NaN and numbers rounding past 2^127 give NaN.
  constexpr explicit F8E8M0(float value, Overflow = Overflow::saturate) : bits(encode(value)) {}

  static constexpr F8E8M0 from_bits(std::uint8_t code) {
    F8E8M0 r{};
    r.bits = code;
    return r;
  }

  template <class T>
  requires std::is_arithmetic_v<T>
  constexpr explicit operator T() const { return static_cast<T>(decode(bits)); }

  static constexpr std::uint8_t encode(float value) {
    const std::uint32_t a = std::bit_cast<std::uint32_t>(value) & 0x7fffffffu;
    const std::uint32_t exponent = a >> 23;
    // A subnormal has no leading 1: the even neighbour of its tie, 2^-127, is below, so only numbers beyond the tie
    // round up.
    const std::uint32_t tie = exponent == 0 ? 0x00400001u : 0x00400000u;
    const std::uint32_t up = (a & 0x007fffffu) >= tie;
    return static_cast<std::uint8_t>(exponent + up > 255 ? 255u : exponent + up);
  }

  static constexpr float decode(std::uint8_t code) {
    const std::uint32_t special = code == 0 ? 0x00400000u : 0x7f800001u;
    return std::bit_cast<float>(code == 0 || code == 255 ? special : static_cast<std::uint32_t>(code) << 23);
  }
};

}  // namespace tern
