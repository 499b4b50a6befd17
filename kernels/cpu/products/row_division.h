// Rows by a weight in blocks of 32 columns: threads divide both, and pack the rows that they multiply.
#pragma once

#include <algorithm>

#include "kernels/cpu/products/division.h"
#include "kernels/cpu/scratch.h"
#include "threads/parallel.h"

namespace tern::tiles {

struct RowSizes {
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t steps = 0;     ///< steps of a row's sum, 64 bytes each
  std::int64_t unit = kTile;  ///< rows that threads divide by: kTile or kBlock
  double step_cycles = 0;     ///< cycles of a step of 16 rows by 32 columns
  double read_bytes = 0;      ///< bytes that a thread reads to make a step of 16 rows
};

class RowDivision {
 public:
  explicit RowDivision(const RowSizes& sizes) : sizes_(sizes) {
    constexpr std::int64_t kMostBytes = 5 << 18, kMostRows = 256;  // packed at once: they stay in the second cache
    const std::int64_t bytes = std::max<std::int64_t>(sizes.steps * 64, 1),
                       most = std::clamp(kMostBytes / bytes / kBlock * kBlock, kBlock, kMostRows),
                       panels = (sizes.m + most - 1) / most;
    rows_at_a_time_ = std::min(round_up((sizes.m + panels - 1) / panels, kBlock), round_up(sizes.m, sizes.unit));
    const double deep = static_cast<double>(sizes.steps) * static_cast<double>(sizes.unit / kTile);
    division_ = divide({rows_at_a_time_ / sizes.unit, blocks_of(sizes.n), deep * sizes.step_cycles,
                        deep * sizes.read_bytes, static_cast<double>(sizes.steps) * 2 * kTileBytes},
                       Threads::current().count());
  }

  /// Makes threads divide columns alone.
  void divide_columns() { division_ = {1, std::min<std::int64_t>(Threads::current().count(), blocks_of(sizes_.n))}; }

  /// Rows that the threads' shared scratch memory has to hold: none if each thread packs the rows that it multiplies.
  std::int64_t shared_rows() const { return each_packs() ? 0 : rows_at_a_time_; }

  /// Rows of a unit: the first one of all that are multiplied together, the share of a thread, and the columns' blocks.
  struct Share {
    std::int64_t first = 0;  ///< row of x that the packed rows begin with
    IndexRange units;
    std::int64_t begin = 0, count = 0;  ///< rows from `first` on
    IndexRange blocks;
  };
  /// Calls pack(first, rows, to) for rows [rows.begin, rows.end) counted from `first`, and multiply(share, packed).
  /// Without `packs`, the rows are read where they lie, and `packed` is null. A packed unit has `unit_bytes`.
  template <class Pack, class Multiply>
  void run(bool packs, std::int64_t unit_bytes, std::byte* shared, const Pack& pack, const Multiply& multiply) const {
    constexpr std::size_t kRowsSlot = 7;
    const std::int64_t unit = sizes_.unit, blocks = blocks_of(sizes_.n);
    for (std::int64_t first = 0; first < sizes_.m; first += rows_at_a_time_) {
      const std::int64_t count = std::min(rows_at_a_time_, sizes_.m - first), units = (count + unit - 1) / unit;
      const auto pack_units = [&](IndexRange of, std::byte* to) {
        pack(first, IndexRange{of.begin * unit, std::min(count, of.end * unit)}, to);
      };
      if (packs && !each_packs()) {
        parallel_for(units, grain_for(unit * sizes_.k), [&](std::int64_t begin, std::int64_t end) {
          pack_units({begin, end}, shared);
        });
      }
      parallel_for(division_.count(), 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          const IndexRange rows = part_of(units, division_.rows, i / division_.columns),
                           columns = part_of(blocks, division_.columns, i % division_.columns);
          if (rows.begin >= rows.end || columns.begin >= columns.end) continue;
          std::byte* packed = packs ? shared : nullptr;
          if (packs && each_packs()) {
            packed = thread_buffer<std::byte>(static_cast<std::size_t>(units * unit_bytes), kRowsSlot);
            pack_units(rows, packed);
          }
          const std::int64_t row = rows.begin * unit;
          multiply(Share{first, rows, row, std::min(count, rows.end * unit) - row, columns}, packed);
        }
      });
    }
  }

 private:
  static constexpr std::int64_t round_up(std::int64_t n, std::int64_t to) { return (n + to - 1) / to * to; }

  /// True if packing in each of the threads that share rows takes no longer than waiting for the others.
  bool each_packs() const {
    constexpr std::int64_t kFewShare = 2;
    return division_.columns <= kFewShare;
  }

  RowSizes sizes_;
  std::int64_t rows_at_a_time_ = 0;
  Division division_;
};

}  // namespace tern::tiles
