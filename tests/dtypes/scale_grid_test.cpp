#include "dtypes/scale_grid.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace tern {
namespace {

TEST(ScaleGrid, TheIndexInTilesIsPyTorchsFormulaAndInverts) {
  for (const auto& [rows, columns] : {std::pair{1, 1}, {32, 2}, {128, 4}, {130, 5}, {257, 9}, {300, 12}}) {
    const ScaleGrid grid{rows, columns, ScaleLayout::swizzled_32_4_4};
    const std::int64_t tile_columns = (columns + 3) / 4;
    EXPECT_EQ(grid.size(), (rows + 127) / 128 * 32 * tile_columns * 16);
    std::vector<int> hits(static_cast<std::size_t>(grid.size()));
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = 0; c < columns; ++c) {
        // view(rb, 128, cb, 4).permute(0, 2, 1, 3).reshape(-1, 4, 32, 4).transpose(1, 2).reshape(-1, 32, 16)
        const std::int64_t block = (r / 128) * tile_columns + c / 4;
        const std::int64_t group = r % 128 / 32;
        const std::int64_t want = ((block * 32 + r % 32) * 4 + group) * 4 + c % 4;
        ASSERT_EQ(grid.index(r, c), want);
        const auto back = grid.position(want);
        ASSERT_TRUE(back.row == r && back.column == c);
        ++hits[static_cast<std::size_t>(want)];
      }
    }
    std::int64_t inside = 0;
    for (std::int64_t i = 0; i < grid.size(); ++i) {
      const auto p = grid.position(i);
      EXPECT_EQ(grid.index(p.row, p.column), i);
      EXPECT_EQ(hits[static_cast<std::size_t>(i)], p.row < rows && p.column < columns ? 1 : 0);
      inside += hits[static_cast<std::size_t>(i)];
    }
    EXPECT_EQ(inside, rows * columns);
  }
  EXPECT_EQ((ScaleGrid{32, 2, ScaleLayout::swizzled_32_4_4}.size()), 512);
  const ScaleGrid plain{7, 3, ScaleLayout::plain};
  EXPECT_EQ(plain.index(2, 1), 7);
  EXPECT_EQ(plain.position(7).row, 2);
}

}  // namespace
}  // namespace tern
