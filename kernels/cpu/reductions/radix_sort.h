// Radix sort of elements with their positions, by keys whose order as unsigned integers is the order of the elements.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "kernels/cpu/accumulate.h"

namespace tern {

/// A key with the position of its element.
struct KeyedPosition {
  std::uint64_t key;
  std::int64_t position;
};

/// Key and position in a word, for keys of 32 bits and as many elements.
using PackedPosition = std::uint64_t;

inline std::uint64_t radix_of(const KeyedPosition& e) {
  return e.key;
}
inline std::uint64_t radix_of(PackedPosition e) {
  return e >> 32;
}

/// Returns the key of a number: zeros have one key, and NaN the largest.
template <class L>
auto radix_key(L v) {
  if constexpr (std::is_floating_point_v<L>) {
    using Bits = std::conditional_t<sizeof(L) == 4, std::uint32_t, std::uint64_t>;
    constexpr Bits kSign = Bits{1} << (8 * sizeof(Bits) - 1);
    if (v != v) return std::numeric_limits<Bits>::max();
    if (v == 0) return kSign;
    Bits bits;
    std::memcpy(&bits, &v, sizeof bits);
    return static_cast<Bits>((bits & kSign) != 0 ? ~bits : bits | kSign);
  } else {
    const auto bits = static_cast<std::uint64_t>(v);
    return std::is_signed_v<L> ? bits ^ (std::uint64_t{1} << 63) : bits;
  }
}

/// Sorts by the lowest `bits` bits of the keys; equal keys keep their order. Returns the sorted elements, in `elements`
/// or in `spare`.
template <class Element>
Element* radix_sort(Element* elements, Element* spare, std::int64_t n, int bits) {
  constexpr int kDigit = 8, kBuckets = 1 << kDigit;
  std::uint32_t counts[64 / kDigit][kBuckets] = {};
  const int digits = (bits + kDigit - 1) / kDigit;
  for (std::int64_t i = 0; i < n; ++i) {
    std::uint64_t key = radix_of(elements[i]);
    for (int d = 0; d < digits; ++d, key >>= kDigit) ++counts[d][key & (kBuckets - 1)];
  }
  for (int d = 0; d < digits; ++d) {
    std::uint32_t* starts = counts[d];
    const int shift = d * kDigit;
    if (starts[radix_of(elements[0]) >> shift & (kBuckets - 1)] == static_cast<std::uint32_t>(n)) continue;
    std::uint32_t start = 0;
    for (int b = 0; b < kBuckets; ++b) start += std::exchange(starts[b], start);
    for (std::int64_t i = 0; i < n; ++i) spare[starts[radix_of(elements[i]) >> shift & (kBuckets - 1)]++] = elements[i];
    std::swap(elements, spare);
  }
  return elements;
}

/// Most elements of a sort by `radix_sort`, whose counts have 32 bits.
inline constexpr std::int64_t kMostRadixElements = std::numeric_limits<std::uint32_t>::max();

}  // namespace tern
