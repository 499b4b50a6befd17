// The formats of the small floating types: numbers of bits, and special codes.
#pragma once

#include <cstdint>

namespace tern {

/// Codes with other meanings than finite numbers.
enum class Special {
  ieee,    ///< the largest exponent encodes the infinities and NaN
  fn,      ///< no infinity; NaN is all ones below the sign
  fnuz,    ///< no infinity, no negative zero; the code of negative zero is the only NaN
  finite,  ///< neither
};

template <class Storage, int Exponent, int Mantissa, int Bias, Special S>
struct FloatFormat {
  using Bits = Storage;
  static constexpr int exponent = Exponent;  ///< bits of the exponent
  static constexpr int mantissa = Mantissa;  ///< bits of the mantissa, without the implicit leading 1
  static constexpr int bias = Bias;
  static constexpr Special special = S;
};

// clang-format off
struct Binary16 : FloatFormat<std::uint16_t, 5, 10,  15, Special::ieee>   {};  // IEEE 754-2008, 3.6
struct Brain16  : FloatFormat<std::uint16_t, 8,  7, 127, Special::ieee>   {};  // the upper half of binary32
struct E4M3FN   : FloatFormat<std::uint8_t,  4,  3,   7, Special::fn>     {};  // arXiv:2209.05433
struct E5M2     : FloatFormat<std::uint8_t,  5,  2,  15, Special::ieee>   {};  // arXiv:2209.05433
struct E4M3FNUZ : FloatFormat<std::uint8_t,  4,  3,   8, Special::fnuz>   {};  // arXiv:2206.02915
struct E5M2FNUZ : FloatFormat<std::uint8_t,  5,  2,  16, Special::fnuz>   {};  // arXiv:2206.02915
struct E2M3     : FloatFormat<std::uint8_t,  2,  3,   1, Special::finite> {};  // OCP MX 1.0, 5.3.2
struct E3M2     : FloatFormat<std::uint8_t,  3,  2,   3, Special::finite> {};  // OCP MX 1.0, 5.3.2
struct E2M1     : FloatFormat<std::uint8_t,  2,  1,   1, Special::finite> {};  // OCP MX 1.0, 5.3.3
// clang-format on

/// Codes without the sign. `largest` is the largest finite code.
template <class F>
struct Codes {
  static constexpr std::uint32_t sign = 1u << (F::exponent + F::mantissa);
  static constexpr std::uint32_t magnitude = sign - 1;
  static constexpr std::uint32_t infinity = ((1u << F::exponent) - 1) << F::mantissa;  // only if special is ieee
  static constexpr std::uint32_t largest = F::special == Special::ieee ? infinity - 1
                                           : F::special == Special::fn ? magnitude - 1
                                                                       : magnitude;
};

}  // namespace tern
