// How a convolution or a product with a weight in panels is divided.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/way.h"

namespace tern::channels_last {

/// What threads divide: lines of images, or channels of results, which reads no weight twice.
enum class Share : std::uint8_t { by_rule, lines, channels };

struct Blocking {
  static constexpr std::int64_t kDepth = 512;

  Share share = Share::by_rule;
  std::int64_t depth = kDepth;  ///< products after which sums are added to y: fewer have smaller errors

  /// Whether anything is divided otherwise than by rule where a result is a sum of so many products.
  bool matters(std::int64_t products) const {
    return share != Share::by_rule || (depth != kDepth && products > std::min(depth, kDepth));
  }
};

/// What a way of convolutions means, or one of products; null for those that divide their work otherwise.
const Blocking* convolution_blocking(Way way);
const Blocking* product_blocking(Way way);

}  // namespace tern::channels_last
