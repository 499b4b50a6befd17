#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace tern {

/// The p-th percentile of sorted values; the list must not be empty.
inline double percentile(const std::vector<double>& sorted, double p) {
  return sorted[std::min(sorted.size() - 1, static_cast<std::size_t>(p / 100 * static_cast<double>(sorted.size())))];
}

}  // namespace tern
