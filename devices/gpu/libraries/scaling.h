// Pointwise nodes multiplying a float8 product by the scales of its operands, as in aten._scaled_mm.
#pragma once

#include <tern/device.h>

#include <cstdint>
#include <optional>

namespace tern::gpu {

/// Scales of a product's operands in memory: one float32 per operand, one per row of a and column of b, or one
/// float8_e8m0 per 32 elements along the depth (MX).
enum class Scales { none, tensor, rows, blocks };

/// p * a * b, or p * a * b + bias: positions among the node's operands.
struct Scaling {
  Scales scales = Scales::none;
  std::int32_t a = -1, b = -1;
  std::int32_t bias = -1;  ///< the result's type, along its last axis; -1: none
};

/// Matches an expression with operand `product`, a matrix, as the product; nothing for other expressions and
/// unsupported scales.
std::optional<Scaling> scaling_of(const tern_device_op& op, std::int32_t product);

}  // namespace tern::gpu
