#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace tern {

/// The value below which p percent of the sorted ones lie. There is at least one.
inline double percentile(const std::vector<double>& sorted, double p) {
  return sorted[std::min(sorted.size() - 1, static_cast<std::size_t>(p / 100 * static_cast<double>(sorted.size())))];
}

}  // namespace tern
