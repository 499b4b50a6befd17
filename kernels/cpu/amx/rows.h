// Products of bfloat16 on matrix tiles: rows as they lie in memory, by a weight whose columns were packed before. Sums
// are float32 and come out row by row, so neither operand nor the result changes its order in a run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/cpu/amx/amx.h"
#include "kernels/cpu/pointwise/finish.h"

namespace tern::amx {

/// Rows of bfloat16 in tiles of 16. Step s of row r, 32 elements of the sum, begins at
/// data + r / 16 * tile + r % 16 * row + steps[s]; all in bytes. Memory behind the last row is read up to a whole tile,
/// and behind a row's last element up to a whole step: what lies there meets zeros of the weight, or gives sums that
/// nobody keeps, but has to be finite where it shares a row with results.
struct TileRows {
  const std::byte* data = nullptr;
  std::int64_t count = 0, tile = 0, row = 0;
  std::span<const std::int64_t> steps;
};

/// Rows of x (float32, `row` elements apart, k elements each) as rows [rows.begin, rows.end) of tiles that lie in one
/// piece: for each 16 rows the tiles of all steps. Elements are rounded to nearest, ties to even; zeros fill up.
void pack_rows(const float* x, std::int64_t row, Range rows, std::int64_t k, std::byte* to);
/// `count` floats as bfloat16, side by side.
void round_line(const float* x, std::int64_t count, std::byte* to);
constexpr std::int64_t packed_rows_bytes(std::int64_t count, std::int64_t k) {
  return (count + kTile - 1) / kTile * steps_of(k) * kTileBytes;
}

/// A weight w [n, k] packed in blocks of 32 of its rows: for each step of k two tiles of 16 pairs (elements 2i and
/// 2i + 1) by 16 columns, rounded; zeros fill up.
constexpr std::int64_t packed_weight_bytes(std::int64_t n, std::int64_t steps) {
  return (n + kBlock - 1) / kBlock * steps * 2 * kTileBytes;
}
void pack_weight(const float* w, std::int64_t row, std::int64_t n, std::int64_t k, std::byte* to);
/// Element k of row n.
float packed_element(const std::byte* packed, std::int64_t steps, std::int64_t n, std::int64_t k);

/// What becomes of sums. Rows come in lines of `pitch` of them, of which the first `width` are results; these follow each
/// other in y, the first line's from row `first` on. The operand's first row is row `begin` of the first line.
struct RowResults {
  static constexpr std::int64_t kNoPitch = std::int64_t{1} << 62;  ///< all rows are results, one line
  float* y = nullptr;
  std::int64_t ld = 0;                ///< elements between y's rows
  std::int64_t columns = 0;           ///< of the weight
  std::int64_t first = 0, begin = 0, pitch = kNoPitch, width = kNoPitch;
  const float* bias = nullptr;        ///< [columns], or null
  pointwise::Finish finish;           ///< sees y's elements at row * ld + offset + column
  std::int64_t offset = 0;            ///< of y's column 0 in a row
};

/// Multiplies all rows by blocks [begin, end) of 32 columns, on the calling thread. False where a result is not finite:
/// then the whole is to be computed in another way.
bool multiply_rows(const TileRows& rows, const std::byte* weight, Range blocks, const RowResults& results);

}  // namespace tern::amx
