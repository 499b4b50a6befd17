#include "kernels/cpu/amx/row_linear.h"

#include <atomic>

#include "kernels/cpu/scratch.h"
#include "threads/parallel.h"

namespace tern::amx {
namespace {

constexpr std::int64_t kMostBytes = 5 << 18;  // of rows that are rounded at once: they stay in the second cache
constexpr std::int64_t kMostRows = 256;
constexpr double kCycles = 2 * 16;  // of a step for 16 rows by 32 columns

std::int64_t up(std::int64_t n, std::int64_t to) {
  return (n + to - 1) / to * to;
}

}  // namespace

RowLinear::RowLinear(const LinearShape& shape) : shape_(shape) {
  const std::int64_t steps = steps_of(shape.k),
                     most = std::clamp(kMostBytes / (steps * 2 * kStep) / kBlock * kBlock, kBlock, kMostRows),
                     panels = (shape.m + most - 1) / most;
  at_a_time_ = std::min(up((shape.m + panels - 1) / panels, kBlock), up(shape.m, kTile));
  const auto deep = static_cast<double>(steps);
  division_ = divide({at_a_time_ / kTile, (shape.n + kBlock - 1) / kBlock, deep * kCycles, deep * kTileBytes * 2,
                      deep * kTileBytes * 2},
                     Threads::current().count());
  for (std::int64_t s = 0; s < steps; ++s) steps_.push_back(s * kTileBytes);
}

void RowLinear::pack(const float* weight, std::byte* to) const {
  pack_weight(weight, shape_.w_row, shape_.n, shape_.k, to);
}

void RowLinear::unpack(const std::byte* packed, float* to) const {
  for (std::int64_t n = 0; n < shape_.n; ++n) {
    for (std::int64_t k = 0; k < shape_.k; ++k) *to++ = packed_element(packed, steps_of(shape_.k), n, k);
  }
}

std::size_t RowLinear::scratch() const {
  return static_cast<std::size_t>(packed_rows_bytes(at_a_time_, shape_.k));
}

bool RowLinear::run(const RowLinearOperands& o, std::byte* scratch) const {
  std::atomic<bool> finite = true;
  const std::int64_t blocks = (shape_.n + kBlock - 1) / kBlock, tile = steps_of(shape_.k) * kTileBytes;
  for (std::int64_t m = 0; m < shape_.m; m += at_a_time_) {
    const std::int64_t count = std::min(at_a_time_, shape_.m - m), tiles = (count + kTile - 1) / kTile;
    const auto round = [&](std::int64_t begin, std::int64_t end) {
      pack_rows(o.x + (m + begin * kTile) * shape_.x_row, shape_.x_row, {begin * kTile, std::min(count, end * kTile)},
                shape_.k, scratch);
    };
    // Where threads share rows, they share the rounding, too.
    const bool alone = division_.columns == 1;
    if (!alone) parallel_for(tiles, grain_for(kTile * shape_.k), round);
    parallel_for(division_.parts(), 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) {
        const Range rows = part_of(tiles, division_.rows, i / division_.columns),
                    columns = part_of(blocks, division_.columns, i % division_.columns);
        if (rows.begin >= rows.end || columns.begin >= columns.end) continue;
        if (alone) round(rows.begin, rows.end);
        const std::int64_t row = rows.begin * kTile;
        const TileRows operand{scratch + rows.begin * tile, std::min(count, rows.end * kTile) - row, tile, 64, steps_};
        const RowResults results{
            .y = o.y, .ld = shape_.n, .columns = shape_.n, .first = m + row, .bias = o.bias, .finish = o.finish};
        if (!multiply_rows(operand, o.weight, columns, results)) finite.store(false, std::memory_order_relaxed);
      }
    });
  }
  return finite;
}

}  // namespace tern::amx
