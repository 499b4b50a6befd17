// Scaling recipes, and the block size of MX.
#pragma once

#include <cstdint>

namespace tern {

/// Numbers of torch.nn.functional.ScalingType.
enum class ScalingType : std::int64_t {
  tensor = 0,
  row = 1,
  block_1x16 = 2,
  block_1x32 = 3,
  block_1x128 = 4,
  block_128x128 = 5
};

constexpr std::int64_t kMxBlock = 32;

}  // namespace tern
