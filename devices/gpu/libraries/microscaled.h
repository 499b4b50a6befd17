// Finds products of two microscaled (MX) operands in a part: the dequantizing nodes and the matmul.
#pragma once

#include <tern/device.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "devices/gpu/devices.h"
#include "devices/gpu/libraries/provider.h"

namespace tern::gpu {

/// An operand in blocks: its value in the part, its elements and scales, and the elements as seen by the product.
struct MicroscaledOperand {
  std::int32_t value = -1;
  tern_device_tensor elements{};
  bool has_tiled_scales = false;    ///< true if the scales are in tiles
  std::vector<std::int32_t> nodes;  ///< nodes between the operand and the product; the first dequantizes
};

struct MicroscaledProduct {
  MicroscaledOperand a, b;
};

/// Matches the product at node `product`; nothing for other nodes, or if other nodes read the dequantized operands.
std::optional<MicroscaledProduct> microscaled_product(const tern_device_part& part, std::int32_t product);

/// True if the device and its library support microscaled products.
bool has_microscaled_products(const GpuDevice& d);

}  // namespace tern::gpu
