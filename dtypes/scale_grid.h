// Layouts of the scales of blocks, and their index arithmetic.
#pragma once

#include <cstdint>

namespace tern {

/// The values are part of the archive format and never change.
enum class ScaleLayout : std::uint8_t {
  plain = 0,  ///< row-major, a row of scales for each row of elements
  swizzled_32_4_4 =
      1,  ///< tiles of 128 rows by 4 columns, padded to whole tiles (cuBLAS "128x4", PyTorch's SWIZZLE_32_4_4)
};

/// A matrix of scales: `rows` by `columns` blocks.
struct ScaleGrid {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  ScaleLayout layout = ScaleLayout::plain;

  std::int64_t tile_columns() const { return (columns + 3) / 4; }
  /// Scales in memory, including the padding of a swizzled layout.
  std::int64_t size() const {
    return layout == ScaleLayout::plain ? rows * columns : (rows + 127) / 128 * tile_columns() * 512;
  }
  /// Position in memory of the scale of row `r`, block `c`. Within a tile the rows r, r+32, r+64 and r+96 share 16
  /// bytes.
  std::int64_t index(std::int64_t r, std::int64_t c) const {
    if (layout == ScaleLayout::plain) return r * columns + c;
    const std::int64_t tile = r / 128 * tile_columns() + c / 4;
    return tile * 512 + r % 32 * 16 + r % 128 / 32 * 4 + c % 4;
  }

  struct Position {
    std::int64_t row;
    std::int64_t column;
  };
  /// The inverse of index(). In the padding the row or the column is outside the grid. The grid must not be empty.
  Position position(std::int64_t i) const {
    if (layout == ScaleLayout::plain) return {i / columns, i % columns};
    const std::int64_t tile = i / 512;
    const std::int64_t in_tile = i % 512;
    return {tile / tile_columns() * 128 + in_tile % 16 / 4 * 32 + in_tile / 16,
            tile % tile_columns() * 4 + in_tile % 4};
  }
};

}  // namespace tern
