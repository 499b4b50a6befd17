// The small floating types as C++ types: Half, BFloat16, F8E4M3FN and so on. These types only hold bits and convert:
// arithmetic is done in float, and the caller decides when to round back.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "dtypes/e8m0.h"
#include "dtypes/float_codec.h"
#include "dtypes/float_format.h"
#include "dtypes/overflow.h"

namespace tern {

/// An element of a format. Its size is the size of Format::Bits, its default value undetermined, like any number's.
template <class Format>
struct SmallFloat {
  using Bits = typename Format::Bits;
  Bits bits;

  SmallFloat() = default;
  /// Rounds to nearest, ties to even. Wider arithmetic types convert to float first, like in PyTorch: a double is
  /// rounded twice.
  constexpr explicit SmallFloat(float value, Overflow policy = Overflow::saturate) : bits(encode(value, policy)) {}

  static constexpr Bits encode(float value, Overflow policy) { return float_codec::encode<Format>(value, policy); }
  static constexpr float decode(Bits code) { return float_codec::decode<Format>(code); }

  static constexpr SmallFloat from_bits(Bits code) {
    SmallFloat r{};
    r.bits = code;
    return r;
  }

  /// The value as float, converted to T. Exact for float and double; NaN is true.
  template <class T>
  requires std::is_arithmetic_v<T>
  constexpr explicit operator T() const { return static_cast<T>(value()); }

 private:
  static constexpr auto decode_all() {
    std::array<float, 256> t{};
    for (std::size_t i = 0; i < t.size(); ++i) t[i] = decode(static_cast<Bits>(i));
    return t;
  }
  static const std::array<float, 256>& table() {
    static constexpr std::array<float, 256> t = decode_all();
    return t;
  }
  constexpr float value() const {
    if constexpr (sizeof(Bits) == 1) {
      if (!std::is_constant_evaluated()) return table()[bits];
    }
    return decode(bits);
  }
};

using Half = SmallFloat<Binary16>;
using BFloat16 = SmallFloat<Brain16>;
using F8E4M3FN = SmallFloat<E4M3FN>;
using F8E5M2 = SmallFloat<E5M2>;
using F8E4M3FNUZ = SmallFloat<E4M3FNUZ>;
using F8E5M2FNUZ = SmallFloat<E5M2FNUZ>;
using F6E2M3 = SmallFloat<E2M3>;  ///< in the low six bits of a byte
using F6E3M2 = SmallFloat<E3M2>;  ///< in the low six bits of a byte
using F4E2M1 = SmallFloat<E2M1>;  ///< a single element, in the low four bits; for the packed form see packed_f4.h

template <class T>
inline constexpr bool is_small_float_v = std::is_same_v<T, F8E8M0>;
template <class Format>
inline constexpr bool is_small_float_v<SmallFloat<Format>> = true;

static_assert(sizeof(Half) == 2 && sizeof(F8E5M2) == 1 && std::is_trivial_v<Half> && std::is_trivial_v<F8E8M0>);

}  // namespace tern
