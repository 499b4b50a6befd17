#include "kernels/cpu/products/tiles/row_driver.h"

#include <atomic>

#include "kernels/cpu/products/block_quantized/driver.h"
#include "kernels/cpu/scratch.h"
#include "threads/parallel.h"

namespace tern::amx {
namespace {

constexpr std::int64_t kMostBytes = 5 << 18;  // of rows that are rounded at once: they stay in the second cache
constexpr std::int64_t kMostRows = 256;
constexpr std::int64_t kWorthATile = 1 << 16;  // products; fewer are faster without
constexpr std::size_t kRowsSlot = 7, kNumbersSlot = 3, kPackedSlot = 2;
constexpr std::int64_t kFewShare = 2;  // threads: to round for each of them takes no longer than to wait for the others

std::int64_t up(std::int64_t n, std::int64_t to) {
  return (n + to - 1) / to * to;
}

}  // namespace

bool RowLinear::suits(const LinearShape& s) {
  return s.m > 2 && s.k >= kTile && s.n >= kTile && s.m * s.n * s.k >= kWorthATile;
}

RowLinear::RowLinear(const LinearShape& shape, bool quantized) : shape_(shape), steps_(shape.k, best_layout(shape.k)) {
  const std::int64_t steps = steps_of(shape.k),
                     most = std::clamp(kMostBytes / (steps * 2 * kStep) / kBlock * kBlock, kBlock, kMostRows),
                     panels = (shape.m + most - 1) / most;
  at_a_time_ = std::min(up((shape.m + panels - 1) / panels, kBlock), up(shape.m, kTile));
  const auto deep = static_cast<double>(steps);
  division_ = divide({at_a_time_ / kTile, (shape.n + kBlock - 1) / kBlock, deep * step_cycles(), deep * kTileBytes * 2,
                      deep * kTileBytes * 2},
                     Threads::current().count());
  if (quantized) division_ = {1, std::min<std::int64_t>(Threads::current().count(), (shape.n + kBlock - 1) / kBlock)};
  alone_ = division_.columns <= kFewShare;
  const std::int64_t x_row = shape.x_row * 2;
  in_place_ = {shape.k, {kTile * x_row, x_row, kStep * 2}};
}

void RowLinear::pack(Elements weight, std::byte* to) const {
  const std::int64_t block = packed_weight_bytes(kBlock, steps_of(shape_.k));
  parallel_for((shape_.n + kBlock - 1) / kBlock, grain_for(kBlock * shape_.k),
               [&](std::int64_t begin, std::int64_t end) {
                 const std::int64_t first = begin * kBlock;
                 pack_weight(weight.at(first * shape_.w_row), shape_.w_row, std::min(shape_.n, end * kBlock) - first,
                             shape_.k, to + begin * block);
               });
}

void RowLinear::unpack(const std::byte* packed, float* to) const {
  for (std::int64_t n = 0; n < shape_.n; ++n) {
    for (std::int64_t k = 0; k < shape_.k; ++k) *to++ = packed_element(packed, steps_of(shape_.k), n, k);
  }
}

std::size_t RowLinear::scratch() const {
  return alone_ ? 0 : static_cast<std::size_t>(steps_.layout().bytes(at_a_time_));
}

/// As multiply_rows, one block after the other, which are rounded numbers of the value for that long.
bool RowLinear::multiply_quantized(const RowLinearOperands& o, const TileRows& rows, Range blocks,
                                   const RowResults& results) const {
  auto* numbers = thread_buffer<float>(static_cast<std::size_t>(kBlock * shape_.k), kNumbersSlot);
  auto* packed =
      thread_buffer<std::byte>(static_cast<std::size_t>(packed_weight_bytes(kBlock, steps_of(shape_.k))), kPackedSlot);
  bool finite = true;
  for (std::int64_t b = blocks.begin; b < blocks.end; ++b) {
    const std::int64_t first = b * kBlock, count = std::min(kBlock, shape_.n - first);
    for (std::int64_t r = 0; r < count; ++r)
      quantized::numbers_of_row(*o.quantized, o.weight, first + r, 0, shape_.k, numbers + r * shape_.k);
    pack_weight({reinterpret_cast<const std::byte*>(numbers), false}, shape_.k, count, shape_.k, packed);
    RowResults part = results;
    part.columns = count;
    part.offset = first;
    if (part.bias != nullptr) part.bias += first;
    finite = multiply_rows(rows, packed, {0, 1}, part) && finite;
  }
  return finite;
}

bool RowLinear::run(const RowLinearOperands& o, std::byte* scratch) const {
  const bool in_place = o.x.narrow && shape_.k % kStep == 0 && reads_in_place();
  const RowSteps& steps = in_place ? in_place_ : steps_;
  std::atomic<bool> finite = true;
  const std::int64_t blocks = (shape_.n + kBlock - 1) / kBlock, tile = steps.layout().tile;
  for (std::int64_t m = 0; m < shape_.m; m += at_a_time_) {
    const std::int64_t count = std::min(at_a_time_, shape_.m - m), tiles = (count + kTile - 1) / kTile;
    const auto round = [&](Range of, std::byte* to) {
      pack_rows(o.x.at((m + of.begin * kTile) * shape_.x_row), shape_.x_row,
                {of.begin * kTile, std::min(count, of.end * kTile)}, shape_.k, steps.layout(), to);
    };
    if (!in_place && !alone_) {
      parallel_for(tiles, grain_for(kTile * shape_.k), [&](std::int64_t begin, std::int64_t end) {
        round({begin, end}, scratch);
      });
    }
    parallel_for(division_.parts(), 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) {
        const Range rows = part_of(tiles, division_.rows, i / division_.columns),
                    columns = part_of(blocks, division_.columns, i % division_.columns);
        if (rows.begin >= rows.end || columns.begin >= columns.end) continue;
        const std::byte* operand = in_place ? o.x.at(m * shape_.x_row).data : scratch;
        if (!in_place && alone_) {
          auto* own = thread_buffer<std::byte>(static_cast<std::size_t>(tiles * tile), kRowsSlot);
          round(rows, own);
          operand = own;
        }
        const std::int64_t row = rows.begin * kTile;
        const RowResults results{.y = o.y,
                                 .narrow = o.narrow,
                                 .ld = shape_.n,
                                 .columns = shape_.n,
                                 .first = m + row,
                                 .bias = o.bias,
                                 .finish = o.finish};
        const TileRows tiles_of_x = steps.rows(operand + rows.begin * tile, std::min(count, rows.end * kTile) - row);
        const bool good = o.quantized == nullptr ? multiply_rows(tiles_of_x, o.weight, columns, results)
                                                 : multiply_quantized(o, tiles_of_x, columns, results);
        if (!good) finite.store(false, std::memory_order_relaxed);
      }
    });
  }
  return finite;
}

}  // namespace tern::amx
