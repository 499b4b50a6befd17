// Tiles of a product shared by the items of a group, on devices with groups (text/product_units.inc and
// product_blocks.inc).
#pragma once

#include <cstdint>

#include "kernels/portable/launcher.h"
#include "kernels/portable/source.h"
#include "kernels/portable/types.h"

namespace tern::portable {

/// Rows and columns of the result, and the depth in local memory at a time.
struct ProductTile {
  std::int64_t rows, columns, depth, items;
  std::int64_t block_rows, block_columns;  ///< block of an item, without matrix units
  bool sliced;                             ///< items may divide the depth, with device-specific bits

  std::int64_t row_blocks(std::int64_t length) const { return (length + rows - 1) / rows; }
  std::int64_t panels(std::int64_t length) const { return (length + columns - 1) / columns; }
  /// `a_turned`: the left operand's rows are adjacent; `b_turned`: the right operand's depth steps are adjacent.
  /// `sparse`: the left operand is a 2:4 sparse matrix, for matrix units.
  void declare(KernelSource& s, bool units, bool a_turned, bool b_turned, bool sparse = false) const;
};

/// True if operands of these types use matrix units, if the device has any.
bool has_units(const Target& target, DType a, DType b);

struct ProductSize {
  std::int64_t rows, columns, depth, planes;
};

/// The tile for matrix units. The depth consists of runs of this length, each with its own tiles.
ProductTile unit_tile(const ProductSize& size, std::int64_t run);
/// The tile for matrix units of a 2:4 sparse left operand.
ProductTile sparse_tile(const ProductSize& size);
/// The tile for blocks of registers; `faster`: allows device-specific bits.
ProductTile block_tile(const ProductSize& size, bool faster);

}  // namespace tern::portable
