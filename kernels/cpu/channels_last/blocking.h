// Division of a convolution, or of a product with a packed weight, among threads.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/algorithm.h"

namespace tern::channels_last {

/// The axis shared among threads: lines of images, or channels of results (then each weight is read once).
enum class ThreadAxis : std::uint8_t { automatic, lines, channels };

struct Blocking {
  static constexpr std::int64_t kDepth = 512;

  ThreadAxis share = ThreadAxis::automatic;
  std::int64_t depth = kDepth;  ///< products in a partial sum added to y: fewer give smaller errors

  /// True if this differs from the rules' choice for sums of `products` products.
  bool matters(std::int64_t products) const {
    return share != ThreadAxis::automatic || (depth != kDepth && products > std::min(depth, kDepth));
  }
};

constexpr Blocking blocking_of(Variant variant) {
  switch (variant) {
    case Variant::lines: return {.share = ThreadAxis::lines};
    case Variant::columns: return {.share = ThreadAxis::channels};
    case Variant::shallow: return {.depth = 256};
    case Variant::deep: return {.depth = 1024};
    case Variant::usual: break;
  }
  return {};
}

}  // namespace tern::channels_last
