#include "kernels/cpu/products/tiles/in_place_driver.h"

#include <algorithm>
#include <atomic>

#include "kernels/cpu/scratch.h"
#include "threads/parallel.h"

namespace tern::amx {
namespace {

constexpr std::int64_t kMostRows = 256, kMostBytes = 5 << 18;  // of x at once: they stay in the second cache
constexpr std::int64_t kWorthATile = 1 << 16;                  // products; fewer are faster without
constexpr std::size_t kColumnsSlot = 7;
constexpr std::int64_t kFewShare = 2;  // threads: to round for each of them takes no longer than to wait for the others

}  // namespace

bool InPlaceLinear::suits(const LinearShape& s) {
  return available() && s.m > 2 && s.k >= kTile && s.n >= kTile && s.m * s.n * s.k >= kWorthATile;
}

InPlaceLinear::InPlaceLinear(const LinearShape& shape) : shape_(shape) {
  const std::int64_t most =
                         std::clamp(kMostBytes / (steps_of(shape.k) * 2 * kStep) / kBlock * kBlock, kBlock, kMostRows),
                     panels = (shape.m + most - 1) / most;
  at_a_time_ = ((shape.m + panels - 1) / panels + kBlock - 1) / kBlock * kBlock;
  const auto deep = static_cast<double>(steps_of(shape.k));
  division_ = divide({at_a_time_ / kBlock, (shape.n + kBlock - 1) / kBlock, deep * 2 * step_cycles(),
                      deep * kTileBytes * 2, deep * kTileBytes * 2},
                     Threads::current().count());
  alone_ = division_.columns <= kFewShare;
}

std::size_t InPlaceLinear::scratch() const {
  return alone_ ? 0 : static_cast<std::size_t>(packed_weight_bytes(at_a_time_, steps_of(shape_.k)));
}

bool InPlaceLinear::run(const InPlaceOperands& o, std::byte* scratch) const {
  std::atomic<bool> finite = true;
  const std::int64_t blocks = (shape_.n + kBlock - 1) / kBlock, pair = packed_weight_bytes(kBlock, steps_of(shape_.k));
  const WeightRows weight{o.weight, shape_.w_row * 2, shape_.n, shape_.k};
  for (std::int64_t m = 0; m < shape_.m; m += at_a_time_) {
    const std::int64_t count = std::min(at_a_time_, shape_.m - m), pairs = (count + kBlock - 1) / kBlock;
    const auto round = [&](Range of, std::byte* to) {
      const std::int64_t first = of.begin * kBlock;
      pack_weight(o.x.at((m + first) * shape_.x_row), shape_.x_row, std::min(count, of.end * kBlock) - first, shape_.k,
                  to + of.begin * pair);
    };
    if (!alone_) {
      parallel_for(pairs, grain_for(kBlock * shape_.k), [&](std::int64_t begin, std::int64_t end) {
        round({begin, end}, scratch);
      });
    }
    parallel_for(division_.parts(), 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) {
        const Range rows = part_of(pairs, division_.rows, i / division_.columns),
                    columns = part_of(blocks, division_.columns, i % division_.columns);
        if (rows.begin >= rows.end || columns.begin >= columns.end) continue;
        std::byte* x = scratch;
        if (alone_) {
          x = thread_buffer<std::byte>(static_cast<std::size_t>(pairs * pair), kColumnsSlot);
          round(rows, x);
        }
        const std::int64_t row = rows.begin * kBlock;
        const RowResults results{.y = o.y,
                                 .narrow = o.narrow,
                                 .ld = shape_.n,
                                 .columns = shape_.n,
                                 .first = m + row,
                                 .bias = o.bias,
                                 .finish = o.finish};
        if (!multiply_in_place(weight, columns, x + rows.begin * pair, std::min(count, rows.end * kBlock) - row,
                               results))
          finite.store(false, std::memory_order_relaxed);
      }
    });
  }
  return finite;
}

}  // namespace tern::amx
