// Matrix tiles: their sizes, and what all products on them share.
#pragma once

#include <tern/dtype.h>

#include <cstddef>
#include <cstdint>

#include "dtypes/cpu_features.h"

namespace tern::tiles {

constexpr std::int64_t kTile = 16;          ///< rows and columns of a tile of sums
constexpr std::int64_t kStep = 32;          ///< products added by one instruction to each sum
constexpr std::int64_t kTileBytes = 1024;   ///< bytes of 16 x 32 bfloat16 or 16 x 16 floats
constexpr int kAllParts = 3;                ///< parts of a float, with all of its digits
constexpr int kRounded = 1;                 ///< a float rounded to one part
constexpr std::int64_t kBlock = 2 * kTile;  ///< rows and columns that are computed at a time
constexpr std::int64_t kBlockFloats = kBlock * kBlock;
constexpr std::int64_t kWorthATile = 1 << 16;  ///< products of a node; fewer are faster without tiles

struct IndexRange {
  std::int64_t begin = 0, end = 0;
  std::int64_t size() const { return end - begin; }
};

/// True if this processor has tiles and the system lets this process use them.
inline bool available() {
  return cpu_level(CpuKind::tiles).has_value();
}

/// True if an operand's elements are bfloat16 as they are: integers of 8 bits, and two of the floats.
constexpr bool is_one_part(DType t) {
  return t == DType::i8 || t == DType::u8 || t == DType::f8_e4m3fn || t == DType::f8_e5m2;
}

constexpr std::int64_t steps_of(std::int64_t k) {
  return (k + kStep - 1) / kStep;
}
/// Blocks of 32 rows or columns.
constexpr std::int64_t blocks_of(std::int64_t n) {
  return (n + kBlock - 1) / kBlock;
}
/// Tiles of 16 rows or columns.
constexpr std::int64_t tiles_of(std::int64_t n) {
  return (n + kTile - 1) / kTile;
}

/// y [m, n] (dense) from x [m, k] (rows `x_row` apart) and w [n, k] (rows `w_row` apart).
struct TileLinearShape {
  std::int64_t m = 0, n = 0, k = 0, x_row = 0, w_row = 0;
  int parts = kAllParts;
};

/// True if blocks of tiles, or of vectors that take their place, gain anything for this shape.
constexpr bool fills_blocks(const TileLinearShape& s) {
  return s.m > 2 && s.k >= kTile && s.n >= kTile && s.m * s.n * s.k >= kWorthATile;
}

}  // namespace tern::tiles
