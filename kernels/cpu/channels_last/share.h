// Division of a channels-last image among threads. Consecutive layers divide equally, so a thread finds its data in its
// own cache: reads from another core's cache take several times as long.
#pragma once

#include <algorithm>
#include <cstdint>

#include "threads/parallel.h"

namespace tern::channels_last {

inline constexpr std::int64_t kUnit = 16;  ///< channels of a unit: the largest vector

/// True if every thread gets channels.
inline bool enough_channels(std::int64_t channels) {
  return channels / kUnit >= Threads::current().count();
}

/// True if threads divide the lines of all images, for ops with little work per element. Otherwise threads divide
/// channels.
inline bool share_lines(std::int64_t lines, std::int64_t channels) {
  constexpr std::int64_t kFewLines = 7;  // lines per thread
  return lines >= kFewLines * Threads::current().count() || !enough_channels(channels);
}

/// Calls f(first, count) for parts of the channels, of at least `grain` units each.
template <class F>
void parallel_channels(std::int64_t channels, std::int64_t grain, F&& f) {
  const std::int64_t units = std::max<std::int64_t>(1, channels / kUnit);  // the last part takes the remainder
  parallel_for(units, grain, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t first = begin * kUnit;
    f(first, (end == units ? channels : end * kUnit) - first);
  });
}

}  // namespace tern::channels_last
