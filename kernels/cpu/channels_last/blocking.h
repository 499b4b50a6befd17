// How threads divide a convolution, or a product with a weight in panels.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/algorithm.h"

namespace tern::channels_last {

/// What threads divide: lines of images, or channels of results, which reads no weight twice.
enum class Share : std::uint8_t { by_rule, lines, channels };

struct Blocking {
  static constexpr std::int64_t kDepth = 512;

  Share share = Share::by_rule;
  std::int64_t depth = kDepth;  ///< products in a partial sum that is added to y: fewer give smaller errors

  /// Whether this differs from the rules' choice for results that are sums of `products` products.
  bool matters(std::int64_t products) const {
    return share != Share::by_rule || (depth != kDepth && products > std::min(depth, kDepth));
  }
};

constexpr Blocking blocking_of(Variant variant) {
  switch (variant) {
    case Variant::lines: return {.share = Share::lines};
    case Variant::columns: return {.share = Share::channels};
    case Variant::shallow: return {.depth = 256};
    case Variant::deep: return {.depth = 1024};
    case Variant::usual: break;
  }
  return {};
}

}  // namespace tern::channels_last
