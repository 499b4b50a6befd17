#include "kernels/cpu/amx/linear.h"

#include <algorithm>

#include "kernels/cpu/amx/panels.h"
#include "kernels/cpu/scratch.h"
#include "threads/parallel.h"
#include "threads/pieces.h"

namespace tern::amx {
namespace {

constexpr std::int64_t kRowsAtATime = 256;    // of x: their parts stay near the second cache
constexpr std::int64_t kMostBytes = 4 << 20;  // of parts, unless 32 rows have more
constexpr std::size_t kPartsSlot = 7;
constexpr std::int64_t kWorthATile = 1 << 16;  // products; fewer are faster without

}  // namespace

bool Linear::suits(const LinearShape& s) {
  return available() && s.m > 2 && s.k >= kTile && s.n >= kTile && s.m * s.n * s.k >= kWorthATile;
}

Linear::Linear(const LinearShape& shape) : shape_(shape), steps_(panel_steps(shape.k, shape.parts)) {
  const std::int64_t panel = steps_of(shape.k) * panel_step(shape.parts);
  rows_at_a_time_ = std::clamp<std::int64_t>(kMostBytes / panel * kTile / kBlock * kBlock, kBlock, kRowsAtATime);
  rows_at_a_time_ = std::min(rows_at_a_time_, tiles_of(shape.m) * kTile);
}

std::size_t Linear::scratch() const {
  if (splits_alone(shape_.n, Threads::current().count())) return 0;
  return static_cast<std::size_t>(rows_at_a_time_ / kTile * steps_of(shape_.k) * panel_step(shape_.parts));
}

bool Linear::run(const LinearOperands& o, std::byte* scratch) const {
  std::atomic<bool> finite = true;
  const std::int64_t panel = steps_of(shape_.k) * panel_step(shape_.parts);
  const Left left = row_major(o.weight, shape_.n, shape_.k, shape_.w_row);
  const std::int64_t blocks = (shape_.n + kBlock - 1) / kBlock;
  const bool alone = splits_alone(shape_.n, Threads::current().count());
  for (std::int64_t m = 0; m < shape_.m; m += rows_at_a_time_) {
    const std::int64_t count = std::min(rows_at_a_time_, shape_.m - m), tiles = tiles_of(count);
    const auto split = [&](std::int64_t begin, std::int64_t end, std::byte* to) {
      for (std::int64_t t = begin; t < end; ++t) {
        split_columns(o.x + (m + t * kTile) * shape_.x_row, shape_.x_row, std::min(kTile, count - t * kTile), shape_.k,
                      shape_.parts, to + t * panel);
      }
    };
    if (!alone) {
      parallel_for(tiles, 1, [&](std::int64_t begin, std::int64_t end) { split(begin, end, scratch); });
    }
    TransposingSink sink(shape_, o, m, count, finite);
    const bool by_rows = blocks >= Threads::current().count() || blocks >= (tiles + 1) / 2;
    parallel_pieces(by_rows ? blocks : (tiles + 1) / 2, 1, 1, [&](Pieces& pieces) {
      std::byte* parts = scratch;
      if (alone) {
        parts = thread_buffer<std::byte>(static_cast<std::size_t>(tiles * panel), kPartsSlot);
        split(0, tiles, parts);
      }
      for (Pieces::Range r = pieces.next(); !r.empty(); r = pieces.next()) {
        const Range columns = by_rows ? Range{0, tiles} : Range{2 * r.begin, std::min(tiles, 2 * r.end)};
        multiply(left, panels(parts, steps_, shape_.parts), by_rows ? Range{r.begin, r.end} : Range{0, blocks}, columns,
                 sink);
      }
    });
  }
  return finite;
}

}  // namespace tern::amx
