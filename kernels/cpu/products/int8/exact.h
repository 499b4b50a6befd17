// The count of products of integers of 8 bits that have a sum of 32 bits whatever their values are.
#pragma once

#include <cstdint>
#include <limits>

#include "dtypes/byte_integers.h"
#include "kernels/kernel.h"

namespace tern::int8 {

/// `count` products of such types: float32 results need the whole sum, int32 ones its low bits.
inline bool is_exact(DType a, DType b, std::int64_t count) {
  const auto largest = [](DType t) { return t == DType::i8 ? std::int64_t{128} : std::int64_t{255}; };
  return count <= std::numeric_limits<std::int32_t>::max() / (largest(a) * largest(b));
}

/// True if the call's result holds such a sum: int32, float32, or 8-bit integers of an epilogue.
inline bool holds_sums(const KernelCall& c) {
  const DType y = c.out[0].dtype;
  return y == DType::i32 || y == DType::f32 || (is_byte_integer(y) && !c.node->expr.code.empty());
}

}  // namespace tern::int8
