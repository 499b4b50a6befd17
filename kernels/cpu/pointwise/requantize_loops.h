// Loop of requantized results, compiled once for each instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/pointwise/leaf_loops.h"

namespace tern::pointwise {

/// An addend of scaled sums: floats, or 8-bit integers x as (x - less) * times.
struct Residual {
  enum class Kind : std::uint8_t { none, floats, unsigned_bytes, signed_bytes };
  Kind kind = Kind::none;
  const std::byte* data = nullptr;  ///< the block's first element
  std::int64_t row = 0;             ///< elements between rows
  float less = 0, times = 1;
  float low, high;  ///< bounds of the sums before the residual is added
};

/// y = ((x - before) * first * second + addend + residual), times or divided by `scale`, clamped, rounded to nearest
/// with ties to even, plus `zero`; stores the low 8 bits. NaN gives 0.
struct RequantizedBlock {
  const float* source = nullptr;
  std::int64_t source_ld = 0;
  std::byte* destination = nullptr;
  std::int64_t destination_ld = 0, rows = 0, columns = 0;
  LeafNumbers subtrahend, first, second, addend;  ///< before, second: null if absent
  Residual residual;
  float scale = 1;
  bool divides = false;
  float low = 0, high = 0;  ///< bounds before rounding
  std::int32_t zero = 0;
};

TERN_LEVEL_FUNCTIONS(vectors, run_requantized, const RequantizedBlock&)

}  // namespace tern::pointwise
