// Products of integers of 8 bits: rows as they lie in memory, by a weight whose columns were packed before. Sums are
// exact in 32 bits, the same by all instructions; where they pass those, their low bits are kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "dtypes/levels.h"
#include "kernels/cpu/products/tiles/rows.h"

namespace tern::int8 {

using tiles::IndexRange;
using tiles::kBlock;
using tiles::kTile;
using tiles::RowResults;
using tiles::TileRows;

constexpr std::int64_t kStep = 64;    ///< products added to a sum at a time, and their bytes
constexpr std::int64_t kGroup = 4;    ///< neighbours in a sum that one instruction adds up
constexpr std::int64_t kEight = 8;    ///< neighbours in a sum of pairs of rows and columns
constexpr int kFlip = 0x80;           ///< turns an integer into one of the other sign, 128 larger or smaller
constexpr std::int64_t kShift = 128;  ///< the difference

/// The operands that have a sign.
struct Signs {
  bool x = false, weight = false;
  bool are_equal() const { return x == weight; }
};

/// The purpose of a product of rows.
struct Task {
  Signs signs;               ///< signs of the rows as they are given, and of the weight
  bool stores_sums = false;  ///< results are int32; otherwise float32
};

/// The layout of a packed weight.
enum class PackedWeightLayout : std::uint8_t {
  groups,  ///< blocks of 32 columns: for each step two tiles of 16 groups by 16 columns
           ///< (kernels/cpu/products/tiles/rows.h)
  rows,    ///< a column is one piece of whole steps
  pairs,   ///< blocks of 32 columns: for each eight elements of a step 16 pairs of columns, eight elements of each
};

/// The signs at which rows are to be flipped, because no instruction multiplies them as they are.
enum class FlippedSigns : std::uint8_t { none, equal, different };

/// Instructions that multiply.
struct Method {
  std::string_view name;  ///< a part of the keys of packed weights
  PackedWeightLayout layout = PackedWeightLayout::rows;
  bool tiles = false;  ///< rows are read from tiles that lie in one piece each; otherwise from anywhere
  FlippedSigns flipped = FlippedSigns::none;
  double step_cycles = 0;  ///< cycles of a step of 16 rows by 32 columns
  /// Multiplies all rows by blocks [begin, end) of 32 columns, on the calling thread. The steps' `pairs` are groups.
  void (*multiply)(const TileRows& rows, const std::byte* weight, IndexRange blocks, const RowResults& results,
                   const Task& task) = nullptr;

  bool flips(const Signs& signs) const {
    return flipped == (signs.are_equal() ? FlippedSigns::equal : FlippedSigns::different);
  }
};

/// The methods of this processor, the fastest first.
std::span<const Method> methods();

TERN_LEVEL_FUNCTIONS(int8_tiles, set_tile_method, Method* method)
TERN_LEVEL_FUNCTIONS(int8_vectors, set_vector_method, Method* method)
TERN_LEVEL_FUNCTIONS(int8_pairs, set_pair_method, Method* method)

}  // namespace tern::int8
