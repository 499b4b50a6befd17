// Residual sums: a product plus a matrix of its sizes, computed by one library call.
#pragma once

#include <tern/device.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace tern::gpu {

struct ResidualSum {
  std::int32_t operand = -1;        ///< the sum's addend: contiguous, of the result's sizes and type
  std::vector<std::int32_t> nodes;  ///< the sum, size-changing nodes, and the product: last first
};

/// Matches a sum at node `last` with a product read by no other node; nothing for other nodes.
std::optional<ResidualSum> residual_sum(const tern_device_part& part, std::int32_t last);

}  // namespace tern::gpu
