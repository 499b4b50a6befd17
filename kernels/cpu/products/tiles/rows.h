// Products of bfloat16: rows as they lie in memory, by a weight whose columns were packed before. Sums are float32 and
// come out row by row, so neither operand nor the result changes its order in a run. Matrix tiles read it so, and so do
// the vectors of processors that multiply bfloat16.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dtypes/levels.h"
#include "kernels/cpu/pointwise/finish.h"
#include "kernels/cpu/products/tiles/tiles.h"
#include "kernels/kernel.h"

namespace tern::tiles {

/// True if this processor has instructions for products of bfloat16. kernels/cpu/machine.h says whether they pay.
bool rows_possible();

/// Rows of bfloat16 in tiles of 16. Step s of row r, 32 elements of the sum, begins at
/// data + r / 16 * tile + r % 16 * row + steps[s]; all in bytes. Memory behind the last row is read up to a whole tile,
/// and behind a row's last element up to a whole step: what lies there meets zeros of the weight, or gives sums that
/// nobody keeps, but has to be finite where it shares a row with results.
struct TileRows {
  const std::byte* data = nullptr;
  std::int64_t count = 0, tile = 0, row = 0;
  std::span<const std::int64_t> steps;
  std::span<const std::uint8_t> pairs = {};  ///< pairs of each step that do not meet zeros only; empty: all 16
};

/// Numbers of float32, or of bfloat16.
struct Elements {
  const std::byte* data = nullptr;
  bool narrow = false;  ///< bfloat16
  Elements offset_by(std::int64_t i) const { return {data + i * (narrow ? 2 : 4), narrow}; }
  static Elements from_tensor(const TensorView& v) { return {v.data, v.dtype == DType::bf16}; }
};

/// The layout of packed rows, in bytes, for TileRows.
struct RowLayout {
  std::int64_t tile = 0, row = 0, step = 0;
  std::int64_t bytes(std::int64_t rows) const { return (rows + kTile - 1) / kTile * tile; }
};
/// The best layout of rows of k elements: in tiles that are loaded from one piece each. Vectors read any row, so there
/// a row lies in one piece, with a line of the cache behind it: rows a power of two apart share few lines of the first
/// cache.
RowLayout best_layout(std::int64_t k);
/// Vectors take rows of bfloat16 from where they lie, tiles slowly.
bool reads_in_place();
/// Rows of x (`row` elements apart, k elements each) as rows [rows.begin, rows.end) of a layout. Floats are rounded to
/// nearest, ties to even; zeros fill up.
void pack_rows(Elements x, std::int64_t row, IndexRange rows, std::int64_t k, const RowLayout& layout, std::byte* to);

/// Appends how many pairs each step of k elements has, as TileRows wants them.
void add_pairs(std::int64_t k, std::vector<std::uint8_t>& pairs);
/// The steps of rows of k elements in a layout.
class RowSteps {
 public:
  RowSteps() = default;
  RowSteps(std::int64_t k, const RowLayout& layout);
  const RowLayout& layout() const { return layout_; }
  /// `count` rows, from the first of a tile on.
  TileRows rows(const std::byte* first, std::int64_t count) const {
    return {first, count, layout_.tile, layout_.row, offsets_, pairs_};
  }

 private:
  RowLayout layout_;
  std::vector<std::int64_t> offsets_;
  std::vector<std::uint8_t> pairs_;
};
/// `count` elements as bfloat16, side by side.
void round_line(Elements x, std::int64_t count, std::byte* to);

/// A weight w [n, k] packed in blocks of 32 of its rows: for each step of k two tiles of 16 pairs (elements 2i and
/// 2i + 1) by 16 columns, rounded; zeros fill up. On aarch64 a step has eight times four neighbours of each of the 32
/// columns.
constexpr std::int64_t packed_weight_bytes(std::int64_t n, std::int64_t steps) {
  return blocks_of(n) * steps * 2 * kTileBytes;
}
void pack_weight(Elements w, std::int64_t row, std::int64_t n, std::int64_t k, std::byte* to);
/// The same of a weight that lies by columns: w [k, n], `row` elements between the rows of k. False where an element is
/// not finite.
bool pack_columns(Elements w, std::int64_t row, std::int64_t k, std::int64_t n, std::byte* to);
/// Element k of row n.
float packed_element(const std::byte* packed, std::int64_t steps, std::int64_t n, std::int64_t k);

/// The destination of sums. Rows come in lines of `pitch` of them, of which the first `width` are results; these follow
/// each other in y, the first line's from row `first` on. The operand's first row is row `begin` of the first line.
struct RowResults {
  static constexpr std::int64_t kNoPitch = std::int64_t{1} << 62;  ///< all rows are results, one line
  std::byte* y = nullptr;
  bool narrow = false;       ///< y is bfloat16: sums are rounded when they are stored
  bool accumulate = false;   ///< adds to y, of float32; without a finish
  std::int64_t ld = 0;       ///< elements between y's rows
  std::int64_t columns = 0;  ///< columns of the weight
  std::int64_t first = 0, begin = 0, pitch = kNoPitch, width = kNoPitch;
  const float* bias = nullptr;            ///< [columns], or null
  const std::int32_t* offsets = nullptr;  ///< the same of sums that are integers
  pointwise::BoundEpilogue finish;        ///< sees y's elements at row * ld + offset + column
  std::int64_t offset = 0;                ///< place of column 0 in a row of y
};

/// The name of this layout in the keys of packed weights.
#if defined(__aarch64__)
inline constexpr const char kPackedLayout[] = "bfloat16 in pairs";
#else
inline constexpr const char kPackedLayout[] = "bfloat16";
#endif

/// Multiplies all rows by blocks [begin, end) of 32 columns, on the calling thread. False where a result is not finite:
/// then the whole is to be computed in another way.
bool multiply_rows(const TileRows& rows, const std::byte* weight, IndexRange blocks, const RowResults& results);

/// Cycles of a step for 16 rows by 32 columns.
double step_cycles();

/// The same for a level: on vectors, or on tiles.
TERN_LEVEL_FUNCTIONS(bfloat16, multiply_rows, const TileRows& rows, const std::byte* weight, IndexRange blocks,
                     const RowResults& results, bool* finite)

/// pack_rows, round_line, pack_weight and pack_columns for a level.
struct RowPack {
  decltype(&pack_rows) rows = nullptr;
  decltype(&round_line) line = nullptr;
  decltype(&pack_weight) weight = nullptr;
  decltype(&pack_columns) columns = nullptr;
};
TERN_LEVEL_FUNCTIONS(bfloat16_vectors, set_row_pack, RowPack* pack)

}  // namespace tern::tiles
