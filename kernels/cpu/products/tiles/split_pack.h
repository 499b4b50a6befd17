// The parts of a product's second operand, and what becomes of its sums.
#pragma once

#include <atomic>
#include <span>
#include <vector>

#include "kernels/cpu/products/tiles/split_driver.h"

namespace tern::tiles {

/// Bytes of one step of a panel: how split_columns and split_rows lay out one column tile, and panels follow each
/// other.
constexpr std::int64_t panel_step(int parts) {
  return parts * kTileBytes;
}
/// Offsets of the steps of a panel of k elements.
inline std::vector<std::int64_t> panel_steps(std::int64_t k, int parts) {
  std::vector<std::int64_t> steps(static_cast<std::size_t>(steps_of(k)));
  for (std::size_t s = 0; s < steps.size(); ++s) steps[s] = static_cast<std::int64_t>(s) * panel_step(parts);
  return steps;
}
/// Panels with these steps as an operand.
inline Right panels(const std::byte* data, std::span<const std::int64_t> steps, int parts) {
  return {data, steps, kTileBytes, static_cast<std::int64_t>(steps.size()) * panel_step(parts), 64, parts};
}

/// Splits rows [0, rows) (at most 16) of x, `row` apart, with k elements each, into the tiles of one column tile: those
/// of step s at to + panel_step * s. Missing rows and elements are zeros.
void split_columns(const float* x, std::int64_t row, std::int64_t rows, std::int64_t k, int parts, std::byte* to);

/// Stores blocks whose rows are columns of y.
class TransposingSink : public TileSink {
 public:
  struct Target {
    const TileLinearShape& shape;
    const SplitLinearOperands& operands;
    std::int64_t first = 0, count = 0;  ///< rows of y
    std::atomic<bool>& finite;
  };
  explicit TransposingSink(const Target& target) : t_(target) {}
  void store(const float* tiles, std::int64_t row, std::int64_t tile, int columns) override;

 private:
  Target t_;
};

/// The destination of 16 columns of sums in a row of the result: the columns of `mask`, to `count` elements from `to`
/// on.
struct Destination {
  std::uint16_t mask = 0;
  std::int32_t count = 0;
  std::int64_t offset = 0;
};

/// Stores blocks whose rows are rows of y, `row` elements apart, with `bias` for each row.
class PlainSink : public TileSink {
 public:
  struct Target {
    float* y = nullptr;
    std::int64_t row = 0, rows = 0;
    const float* bias = nullptr;  ///< the bias of row 0, or null
    pointwise::BoundEpilogue finish;
    std::int64_t begin = 0;   ///< number of y's first element for `finish`
    bool accumulate = false;  ///< adds to what y holds; without a finish
  };
  struct Context {
    const Target& target;
    const std::vector<Destination>& tiles;
    std::atomic<bool>& finite;
  };
  PlainSink(const Target& target, const std::vector<Destination>& tiles, std::atomic<bool>& finite)
      : context_{target, tiles, finite} {}
  void store(const float* tiles, std::int64_t row, std::int64_t tile, int columns) override;

 private:
  Context context_;
};

/// Splits b [k, n] (rows `row` apart) into the tiles of its columns: those of column tile t and step s at
/// to + panel_step * (t * steps + s). False where a number is not finite, or so large that its parts are not.
bool split_rows(const float* b, std::int64_t row, std::int64_t k, std::int64_t n, int parts, std::byte* to);

/// A line of a plane and the line of its partner (null: zeros), `size` floats each.
struct LinePair {
  const float *a = nullptr, *b = nullptr;
  std::int64_t size = 0;
};
/// Splits elements first, first + step ... of both lines, `count` of them, zeros where there are none: part p to to[p].
void split_line(const LinePair& lines, std::int64_t first, std::int64_t step, std::int64_t count,
                std::span<std::byte* const> to);

/// The functions above, for a level.
struct SplitPack {
  decltype(&split_columns) columns = nullptr;
  decltype(&split_rows) rows = nullptr;
  decltype(&split_line) line = nullptr;
  void (*store_transposed)(const TransposingSink::Target& target, const float* tiles, std::int64_t row,
                           std::int64_t tile, int columns) = nullptr;
  void (*store_plain)(const PlainSink::Context& place, const float* tiles, std::int64_t row, std::int64_t tile,
                      int columns) = nullptr;
};
TERN_LEVEL_FUNCTIONS(tiles, set_split_pack, SplitPack* pack)

}  // namespace tern::tiles
