// What threads divide where an image lies with its channels last. Layers that follow each other divide it in the same
// way, as a thread then finds what it needs in its own cache: what another wrote is several times as far.
#pragma once

#include <omp.h>

#include <cstdint>

namespace tern::channels_last {

/// Whether threads that do little for each element take lines of all images, one after the other; else they take
/// channels.
inline bool share_lines(std::int64_t lines) {
  constexpr std::int64_t kFewLines = 7;  // for each thread
  return lines >= kFewLines * omp_get_max_threads();
}

}  // namespace tern::channels_last
