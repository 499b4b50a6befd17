// The sum of a product and a matrix of its sizes, as residual connections have it: one call of the library computes
// both.
#pragma once

#include <tern/device.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace tern::gpu {

struct ResidualSum {
  std::int32_t operand = -1;        ///< of the sum: what is added, contiguous, of the result's sizes and type
  std::vector<std::int32_t> nodes;  ///< the sum, what changes only sizes, and the product: the last first
};

/// Where node `last` adds something to a product that nobody else reads; nothing for other nodes.
std::optional<ResidualSum> residual_sum(const tern_device_part& part, std::int32_t last);

}  // namespace tern::gpu
