#include "kernels/cpu/products/tiles/split_driver.h"

#include <algorithm>

#include "kernels/cpu/products/block_quantized/driver.h"
#include "kernels/cpu/products/tiles/split_division.h"
#include "kernels/cpu/products/tiles/split_pack.h"
#include "kernels/cpu/scratch.h"
#include "threads/pieces.h"

namespace tern::tiles {
namespace {

constexpr std::int64_t kRowsAtATime = 256;    // rows of x whose parts stay near the second cache
constexpr std::int64_t kMostBytes = 4 << 20;  // bytes of parts, unless 32 rows have more
constexpr std::size_t kPartsSlot = 7, kSplitDriverNumbersSlot = 3;
constexpr std::int64_t kBlocksOfNumbers = 2;  // blocks of a quantized weight, which stay in the second cache
constexpr std::int64_t kPiecesOfAShare = 4;
constexpr std::int64_t kFloat = sizeof(float);

}  // namespace

bool SplitLinear::suits(const TileLinearShape& s) {
  return available() && fills_blocks(s);
}

SplitLinear::SplitLinear(const TileLinearShape& shape) : shape_(shape), steps_(panel_steps(shape.k, shape.parts)) {
  const std::int64_t panel = steps_of(shape.k) * panel_step(shape.parts);
  rows_at_a_time_ = std::clamp<std::int64_t>(kMostBytes / panel * kTile / kBlock * kBlock, kBlock, kRowsAtATime);
  rows_at_a_time_ = std::min(rows_at_a_time_, tiles_of(shape.m) * kTile);
}

/// Groups of column tiles for `tiles` of them. With one, every thread splits all of x; with more, it splits its own
/// part of x, and reads its blocks of the weight more often.
std::int64_t SplitLinear::groups_for(std::int64_t tiles, std::int64_t threads) const {
  const std::int64_t pairs = (tiles + 1) / 2;
  double best = 0;
  std::int64_t groups = 1;
  for (std::int64_t some = 1; some <= std::min(pairs, threads); ++some) {
    const std::int64_t widest = (pairs + some - 1) / some;
    const auto columns = static_cast<double>(widest * kBlock), k = static_cast<double>(shape_.k);
    const PanelDivision d{some, blocks_of(shape_.n), columns * k * kSplitCost,
                          kBlock * k * (columns * kProductCost + kLeftCost)};
    const double cost = d.cost(threads);
    if (some > 1 && cost >= best) continue;
    best = cost;
    groups = some;
  }
  return groups;
}

/// Blocks of a quantized weight as floats, in this thread's buffer.
LeftOperand SplitLinear::numbers(const SplitLinearOperands& o, IndexRange blocks) const {
  const IndexRange rows{blocks.begin * kBlock, std::min(shape_.n, blocks.end * kBlock)};
  auto* to =
      thread_buffer<float>(static_cast<std::size_t>((rows.end - rows.begin) * shape_.k), kSplitDriverNumbersSlot);
  for (std::int64_t r = rows.begin; r < rows.end; ++r)
    block_quantized::numbers_of_row(*o.quantized, static_cast<const std::byte*>(o.weight), r, 0, shape_.k,
                                    to + (r - rows.begin) * shape_.k);
  LeftOperand left = row_major(to, shape_.n, shape_.k, shape_.k);
  left.first = blocks.begin;
  return left;
}

bool SplitLinear::run(const SplitLinearOperands& o, std::byte*) const {
  std::atomic<bool> finite = true;
  const std::int64_t panel = steps_of(shape_.k) * panel_step(shape_.parts);
  const LeftOperand left = row_major(o.weight, shape_.n, shape_.k, shape_.w_row, o.type);
  const std::int64_t blocks = blocks_of(shape_.n), threads = Threads::current().count();
  for (std::int64_t m = 0; m < shape_.m; m += rows_at_a_time_) {
    const std::int64_t count = std::min(rows_at_a_time_, shape_.m - m), tiles = tiles_of(count),
                       pairs = (tiles + 1) / 2, groups = groups_for(tiles, threads);
    const auto columns_of = [&](std::int64_t group) {
      return IndexRange{2 * (group * pairs / groups), std::min(tiles, 2 * ((group + 1) * pairs / groups))};
    };
    TransposingSink sink({shape_, o, m, count, finite});
    const std::int64_t piece = std::max(blocks_together(shape_.k), groups * blocks / (kPiecesOfAShare * threads));
    parallel_pieces(
        groups * blocks, piece, 1,
        [&](Pieces& pieces) {
          auto* parts = thread_buffer<std::byte>(static_cast<std::size_t>(tiles * panel), kPartsSlot);
          std::int64_t ready = -1;  // the group whose columns are split
          const std::int64_t following = pieces.own_end();
          for (Pieces::Range r = pieces.next(); !r.empty(); r = pieces.next()) {
            for (std::int64_t i = r.begin; i < r.end;) {
              const std::int64_t group = i / blocks, end = std::min(r.end, (group + 1) * blocks);
              const IndexRange columns = columns_of(group);
              for (std::int64_t t = columns.begin; group != ready && t < columns.end; ++t) {
                split_columns(o.x + (m + t * kTile) * shape_.x_row, shape_.x_row, std::min(kTile, count - t * kTile),
                              shape_.k, shape_.parts, parts + t * panel);
              }
              ready = group;
              const std::int64_t next = std::min(blocks, following - group * blocks);
              const IndexRange some{i - group * blocks, end - group * blocks};
              if (o.quantized == nullptr) {
                multiply(left, panels(parts, steps_, shape_.parts), some, columns, sink, next);
              } else {
                for (std::int64_t b = some.begin; b < some.end; b += kBlocksOfNumbers) {
                  const IndexRange few{b, std::min(some.end, b + kBlocksOfNumbers)};
                  multiply(numbers(o, few), panels(parts, steps_, shape_.parts), few, columns, sink, few.end);
                }
              }
              i = end;
            }
          }
        },
        (count / groups + (groups - 1) * shape_.n / threads) * shape_.k * kFloat);
  }
  return finite;
}

}  // namespace tern::tiles
