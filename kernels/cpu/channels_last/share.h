// How threads divide an image in channels-last layout. Consecutive layers divide it in the same way, so that a thread
// finds its data in its own cache: data in another thread's cache takes several times as long to read.
#pragma once

#include <algorithm>
#include <cstdint>

#include "threads/parallel.h"

namespace tern::channels_last {

inline constexpr std::int64_t kUnit = 16;  ///< channels that stay together: the most that a register holds

/// Whether every thread has channels.
inline bool enough_channels(std::int64_t channels) {
  return channels / kUnit >= Threads::current().count();
}

/// For ops with little work per element: whether threads divide the lines of all images. Otherwise they divide
/// channels.
inline bool share_lines(std::int64_t lines, std::int64_t channels) {
  constexpr std::int64_t kFewLines = 7;  // for each thread
  return lines >= kFewLines * Threads::current().count() || !enough_channels(channels);
}

/// Calls f(first, count) for parts of the channels, of at least `grain` units each.
template <class F>
void for_channels(std::int64_t channels, std::int64_t grain, F&& f) {
  const std::int64_t units = std::max<std::int64_t>(1, channels / kUnit);  // the last one takes the remainder
  parallel_for(units, grain, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t first = begin * kUnit;
    f(first, (end == units ? channels : end * kUnit) - first);
  });
}

}  // namespace tern::channels_last
