// Rows of one operand in the order in which vectors multiply them.
#pragma once

#include <vector>

#include "kernels/cpu/products/tiles/rows.h"

namespace tern::tiles {

/// `count` rows from row `first` on, equally far apart, whose sums stay in registers together.
struct RowGroup {
  std::int64_t first = 0, count = 0;
};

/// Groups that are multiplied by a piece of the weight, one after the other, while it is in the first cache.
struct RowPanel {
  static constexpr std::int64_t kMostRows = 160;  ///< counted from its first row to its last
  std::int64_t begin = 0, end = 0;                ///< rows, of which some may be in no group
  std::vector<RowGroup> groups;
};

/// Groups of up to `most` rows, all of about the same size. Rows that are no results are left out, unless lines are so
/// short that groups would be small.
std::vector<RowPanel> row_panels(const TileRows& rows, const RowResults& results, std::int64_t most);

}  // namespace tern::tiles
