// Products of two operands of microscaling (MX) among the nodes of a part: what dequantizes the operands, and the
// matmul.
#pragma once

#include <tern/device.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "devices/gpu/devices.h"
#include "devices/gpu/libraries/provider.h"

namespace tern::gpu {

/// An operand with blocks: its value in the part, elements and scales, and the elements as the product has them.
struct MicroscaledOperand {
  std::int32_t value = -1;
  tern_device_tensor elements{};
  bool in_tiles = false;            ///< its scales
  std::vector<std::int32_t> nodes;  ///< between it and the product: the first one dequantizes
};

struct MicroscaledProduct {
  MicroscaledOperand a, b;
};

/// What node `product` is; nothing for another node, and where something else reads its dequantized operands.
std::optional<MicroscaledProduct> microscaled_product(const tern_device_part& part, std::int32_t product);

/// Whether the device and its library have them.
bool has_microscaled_products(const GpuDevice& d);

}  // namespace tern::gpu
