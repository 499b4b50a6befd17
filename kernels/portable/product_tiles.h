// Tiles of a product that the items of a group share, on devices with groups (text/product_units.inc and
// product_blocks.inc).
#pragma once

#include <cstdint>

#include "kernels/portable/launcher.h"
#include "kernels/portable/source.h"
#include "kernels/portable/types.h"

namespace tern::portable {

/// Rows and columns of the result, and how much of the depth is in local memory at a time.
struct ProductTile {
  std::int64_t rows, columns, depth, items;
  std::int64_t block_rows, block_columns;  ///< of an item, without matrix units
  bool sliced;                             ///< items may divide the depth: with bits of their own

  std::int64_t row_blocks(std::int64_t length) const { return (length + rows - 1) / rows; }
  std::int64_t panels(std::int64_t length) const { return (length + columns - 1) / columns; }
  /// `a_turned`: neighbours of the left operand are rows, `b_turned`: those of the right one are steps of the depth.
  void declare(Source& s, bool units, bool a_turned, bool b_turned) const;
};

/// Whether operands of these types go to matrix units, if the device turns out to have them.
bool has_units(const Target& target, DType a, DType b);

struct ProductSize {
  std::int64_t rows, columns, depth, planes;
};

/// The tile for matrix units. The depth consists of runs of this length, each of which has tiles of its own.
ProductTile unit_tile(const ProductSize& size, std::int64_t run);
/// The tile for blocks of registers; `faster`: with bits of its own.
ProductTile block_tile(const ProductSize& size, bool faster);

}  // namespace tern::portable
