// Which products are of integers of 8 bits, and how many of them have a sum of 32 bits whatever their values are.
#pragma once

#include <tern/dtype.h>

#include <cstdint>
#include <limits>

namespace tern::integer {

inline bool is_byte(DType t) {
  return t == DType::i8 || t == DType::u8;
}

/// `count` products of such types: float32 results need the whole sum, int32 ones its low bits.
inline bool is_exact(DType a, DType b, std::int64_t count) {
  const auto largest = [](DType t) { return t == DType::i8 ? std::int64_t{128} : std::int64_t{255}; };
  return count <= std::numeric_limits<std::int32_t>::max() / (largest(a) * largest(b));
}

}  // namespace tern::integer
