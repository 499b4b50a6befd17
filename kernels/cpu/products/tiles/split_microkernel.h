// Float products on the processor's matrix tiles (AMX), which multiply bfloat16: each float is split into three of
// those, and of the nine products of parts the six that a float's sum can notice are added. Where a program may
// multiply in bfloat16 (PrepareOptions::precision) a float is rounded to one part, and there is one product.
//
// Let x = x1 + x2 + x3, each part the rest rounded to 8 bits. Then x1 y1 + (x1 y2 + x2 y1) + (x1 y3 + x2 y2 + x3 y1)
// differs from x y by less than 2^-22 |x y|, most of the time by a fourth of that, and sums are kept in floats: errors
// are those of a product of floats, and smaller where many are added, since a tile adds 32 products before it rounds
// into the sum (Henry, Tang, Heinecke, "Leveraging the bfloat16 Artificial Intelligence Datatype For Higher-Precision
// Computations", 2019). Parts below 2^-126 count as zero. Results are right where all of operands and sums are finite
// and below 2^127; otherwise a result is not finite, the store says so, and the caller computes the whole again in
// another way.
#pragma once

#include <span>

#include "dtypes/levels.h"
#include "kernels/cpu/products/tiles/tiles.h"

namespace tern::tiles {

/// The operand whose rows are read as they lie and split while they are multiplied. Its rows come in blocks of 32 and
/// its elements in steps of 32, with as many elements between blocks, rows and steps as it says.
struct LeftOperand {
  const void* data = nullptr;
  std::int64_t rows = 0, k = 0;
  std::int64_t block = 0, row = 0, step = 0;
  DType type = DType::f32;  ///< or one that is_one_part: then there are half as many products of parts, or fewer
  std::int64_t first = 0;   ///< the block that `data` begins with
};
/// Rows that lie `row` apart, each in one piece.
inline LeftOperand row_major(const void* data, std::int64_t rows, std::int64_t k, std::int64_t row,
                             DType type = DType::f32) {
  return {data, rows, k, kBlock * row, row, kStep, type};
}

/// The operand that was split before. Tiles have 16 rows of 16 pairs (elements i and i + 16 of the step's k) of one
/// column each. Part p of step s in columns [16 t, 16 t + 16) is the tile at steps[s] + p * part + t * column_tile,
/// with rows `row` apart; all in bytes. A left operand of float32 is split into as many parts.
struct Right {
  const std::byte* data = nullptr;
  std::span<const std::int64_t> steps;
  std::int64_t part = 0, column_tile = 0, row = 0;
  int parts = kAllParts;
};

/// Takes what was computed, a block at a time.
class TileSink {
 public:
  virtual ~TileSink() = default;
  /// Rows from `row` and columns from 16 * `tile`: four tiles of 16 x 16 sums, (row tile 0, column tile 0), (0, 1), (1,
  /// 0), (1, 1). `columns`: how many column tiles were computed, 1 or 2; the others hold nothing.
  virtual void store(const float* tiles, std::int64_t row, std::int64_t tile, int columns) = 0;
};

/// Multiplies rows [32 blocks.begin, 32 blocks.end) of `left` by column tiles `tiles` of `right`, on the calling
/// thread. Blocks up to `next` are likely to follow: the first of them is asked for at the end.
void multiply(const LeftOperand& left, const Right& right, IndexRange blocks, IndexRange tiles, TileSink& sink,
              std::int64_t next = 0);

TERN_LEVEL_FUNCTIONS(tiles, multiply_split, const LeftOperand& left, const Right& right, IndexRange blocks,
                     IndexRange tiles, TileSink& sink, std::int64_t next)

/// Steps after which sums leave the registers: the left operand's parts are 192 KiB then.
constexpr std::int64_t depth_of(int parts) {
  return 96 / parts;
}
constexpr std::int64_t kGroup = 4;  ///< blocks of rows that share the right operand's parts of so many steps

/// Blocks of rows that `multiply` takes together, for operands with k elements: a call with fewer reads more often what
/// the first caches do not hold.
constexpr std::int64_t blocks_together(std::int64_t k) {
  return steps_of(k) <= depth_of(kAllParts) ? 1 : kGroup;
}

}  // namespace tern::tiles
