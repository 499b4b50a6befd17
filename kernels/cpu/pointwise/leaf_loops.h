// Loops of leaf chains, compiled once for each instruction set.
#pragma once

#include <cstdint>

#include "dtypes/levels.h"

namespace tern::pointwise {

/// Operations of a value x with a leaf; `_from` and `_of` take the leaf as first operand. The last two serve 8-bit
/// results only (requantize.h); `round`, to nearest and ties to even, takes no leaf.
enum class LeafOp : std::uint8_t { add, sub, sub_from, mul, min, min_of, max, max_of, div, round };

/// Numbers of a block: element (i, j) is at[i * row + j * column]; column is 0 or 1.
struct LeafNumbers {
  const float* data = nullptr;
  std::int64_t row = 0, column = 0;
};

struct LeafLink {
  LeafOp op{};
  LeafNumbers leaf, times;  ///< a non-null `times` multiplies the leaf
};

/// A block of values and the destination of the results, possibly in place.
struct BlockBuffers {
  const float* source = nullptr;
  std::int64_t source_ld = 0;
  float* destination = nullptr;
  std::int64_t destination_ld = 0, rows = 0, columns = 0;
};

struct LeafBlock {
  BlockBuffers buffers;
  const LeafLink* links = nullptr;
  std::int64_t link_count = 0;
};

/// min(max(x * first * second + addend, low), high) with leaves: the usual form of scaled sums.
struct ScaledBlock {
  BlockBuffers buffers;
  LeafNumbers first, second, addend;
  bool bounded = false;
  float low = 0, high = 0;
};

TERN_LEVEL_FUNCTIONS(vectors, run_leaves, const LeafBlock&)
TERN_LEVEL_FUNCTIONS(vectors, run_scaled, const ScaledBlock&)

}  // namespace tern::pointwise
