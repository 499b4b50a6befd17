// Numbers as the loops read them: float32, or bfloat16 in two bytes.
#pragma once

#include <bit>
#include <cstdint>

#include "exporter/passes/quantize/levels.h"
#include "exporter/passes/quantize/row.h"

namespace tern::quantize {

inline constexpr std::uint32_t kMagnitude = 0x7fffffffu;

struct StoredFloat32 {
  using Bits = std::uint32_t;
  static constexpr Bits magnitude = kMagnitude;
  static constexpr int shift = 0;  ///< distance to the bits of a float32
};

struct StoredBfloat16 {
  using Bits = std::uint16_t;
  static constexpr Bits magnitude = 0x7fff;
  static constexpr int shift = 16;
};

template <class S>
TERN_INLINE std::uint32_t bits_of(typename S::Bits x) {
  return static_cast<std::uint32_t>(x) << S::shift;
}
template <class S>
TERN_INLINE float value_of(typename S::Bits x) {
  return std::bit_cast<float>(bits_of<S>(x));
}
template <class S>
TERN_INLINE float magnitude_of(typename S::Bits x) {
  return std::bit_cast<float>(bits_of<S>(x & S::magnitude));
}

template <class S>
const typename S::Bits* numbers_of(const WeightRow& row) {
  return reinterpret_cast<const typename S::Bits*>(row.numbers);
}

/// Calls f with the type of the row's numbers.
template <class F>
void dispatch_stored(const WeightRow& row, const F& f) {
  if (row.stored == DType::bf16) return f(StoredBfloat16{});
  f(StoredFloat32{});
}

}  // namespace tern::quantize
