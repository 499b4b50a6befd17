// The division among threads of a product whose right operand is split: blocks of rows of the left operand, and panels
// of the right one (bands of an image, or groups of columns). A thread takes neighbours in the list of (panel, block),
// panel by panel, and splits each panel that it needs for itself: reading what another core split takes longer.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tern::tiles {

/// Nanoseconds of one core of a Xeon of 2024. Only their ratios matter.
constexpr double kProductCost = 0.0072;  ///< a product of two elements
constexpr double kSplitCost = 0.43;      ///< splitting an element of the right operand
constexpr double kLeftCost =
    0.16;  ///< reading an element of the left operand, and splitting it between multiplications

struct PanelDivision {
  std::int64_t panels = 1, blocks = 1;
  double panel_cost = 0;  ///< splitting a panel
  double block_cost = 0;  ///< multiplying a block by a panel

  /// The cost of the thread that has most.
  double cost(std::int64_t threads) const {
    const std::int64_t most = (panels * blocks + threads - 1) / threads,
                       begun = (most + blocks - 1) / blocks + (most > blocks && most % blocks != 0 ? 1 : 0);
    return static_cast<double>(most) * block_cost + static_cast<double>(std::min(panels, begun)) * panel_cost;
  }
};

}  // namespace tern::tiles
