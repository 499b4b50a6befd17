#include "kernels/cpu/products/tiles/row_panels.h"

#include <algorithm>

namespace tern::tiles {
namespace {

constexpr std::int64_t kUsual = 128;   // rows of a panel
constexpr std::int64_t kShortest = 6;  // lines whose rows make groups of their own

}  // namespace

std::vector<RowPanel> row_panels(const TileRows& rows, const RowResults& results, std::int64_t most) {
  const bool skips = results.pitch > results.width && results.width >= kShortest, even = rows.tile == kTile * rows.row;
  const std::int64_t panels = (rows.count + kUsual - 1) / kUsual,
                     target = panels == 0 ? 0 : (rows.count + panels - 1) / panels;
  std::vector<RowPanel> made;
  for (std::int64_t row = 0; row < rows.count;) {
    std::int64_t run = rows.count - row;  // rows that are equally far apart, and all results
    if (skips) {
      const std::int64_t in_line = (results.begin + row) % results.pitch;
      if (in_line >= results.width) {
        row += results.pitch - in_line;
        continue;
      }
      run = std::min(run, results.width - in_line);
    }
    if (!even) run = std::min(run, kTile - row % kTile);
    const std::int64_t groups = (run + most - 1) / most;
    for (std::int64_t i = 0; i < groups; ++i) {
      const std::int64_t first = row + run * i / groups, end = row + run * (i + 1) / groups;
      if (made.empty() || made.back().end - made.back().begin >= target ||
          end - made.back().begin > RowPanel::kMostRows)
        made.push_back({first, first, {}});
      made.back().groups.push_back({first, end - first});
      made.back().end = end;
    }
    row += run;
  }
  return made;
}

}  // namespace tern::tiles
