// Pointwise nodes that multiply a product of float8 by the scales of its operands, as aten._scaled_mm has them.
#pragma once

#include <tern/device.h>

#include <cstdint>
#include <optional>

namespace tern::gpu {

/// Scales of a product's operands in memory: one float32 each, one for each row of a and column of b, or a float8_e8m0
/// for each 32 elements along the depth (MX).
enum class Scales { none, tensor, rows, blocks };

/// p * a * b, or p * a * b + bias: places among the node's operands.
struct Scaling {
  Scales scales = Scales::none;
  std::int32_t a = -1, b = -1;
  std::int32_t bias = -1;  ///< of the result's type, along its last axis; -1: none
};

/// Where operand `product`, a matrix, is the product; nothing for another expression, and for scales that the libraries
/// do not have.
std::optional<Scaling> scaling_of(const tern_device_op& op, std::int32_t product);

}  // namespace tern::gpu
