// The division of a product among threads: its rows, its columns, or both.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "kernels/cpu/products/tiles/tiles.h"

namespace tern::tiles {

struct Division {
  std::int64_t rows = 1, columns = 1;  ///< parts of each
  std::int64_t count() const { return rows * columns; }
};

/// Units that a thread takes at once, what they cost, and what a thread reads for them.
struct Divided {
  std::int64_t rows = 1, columns = 1;      ///< units of rows, and of columns
  double unit_cycles = 0;                  ///< cycles of a unit of rows by one of columns
  double row_bytes = 0, column_bytes = 0;  ///< bytes of a unit
};

/// The division among `threads` threads whose largest part takes least: its work, and reading its rows and columns from
/// beyond the second cache.
inline Division divide(const Divided& d, std::int64_t threads) {
  constexpr double kBytesACycle = 8;
  const auto part = [](std::int64_t units, std::int64_t parts) {
    const std::int64_t most = (units + parts - 1) / parts;
    return static_cast<double>(most);
  };
  Division best;
  double least = std::numeric_limits<double>::infinity();
  for (std::int64_t r = 1; r <= std::min(d.rows, threads); ++r) {
    const std::int64_t c = std::min(d.columns, threads / r);
    const double rows = part(d.rows, r), columns = part(d.columns, c),
                 cost = rows * columns * d.unit_cycles + (rows * d.row_bytes + columns * d.column_bytes) / kBytesACycle;
    if (cost >= least) continue;
    least = cost;
    best = {r, c};
  }
  return best;
}

/// Part i of `parts` parts of n units.
inline IndexRange part_of(std::int64_t n, std::int64_t parts, std::int64_t i) {
  return {n * i / parts, n * (i + 1) / parts};
}

}  // namespace tern::tiles
