// What threads divide where an image lies with its channels last. Layers that follow each other divide it in the same
// way, as a thread then finds what it needs in its own cache: what another wrote is several times as far.
#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/parallel.h"

namespace tern::channels_last {

inline constexpr std::int64_t kUnit = 16;  ///< channels that are not divided: the most that a register holds

/// Whether every thread has channels.
inline bool enough_channels(std::int64_t channels) {
  return channels / kUnit >= omp_get_max_threads();
}

/// Whether threads that do little for each element take lines of all images, one after the other; else they take
/// channels.
inline bool share_lines(std::int64_t lines, std::int64_t channels) {
  constexpr std::int64_t kFewLines = 7;  // for each thread
  return lines >= kFewLines * omp_get_max_threads() || !enough_channels(channels);
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
