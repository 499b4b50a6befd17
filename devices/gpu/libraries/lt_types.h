// The element types of products that the libraries know, and how they may be computed.
#pragma once

#include <tern/device.h>

#include <cstdint>
#include <vector>

namespace tern::gpu {

enum class LtFactor { single, wide, whole };  ///< float, double, int32

struct LtTypes {
  int a = 0, b = 0, out = 0;  ///< of the library (cudaDataType); a is that of Tern's b
  std::uint32_t bytes = 0;    ///< of an element of the operands
  std::uint32_t out_bytes = 0;
  LtFactor factor = LtFactor::single;  ///< the type of alpha and beta
  int scale = 0;                       ///< the same, of the library
  std::vector<int> computes;           ///< the preferred one first
};

/// A product whose right operand has blocks with scales: tern/device.h, TERN_DEVICE_PARTITION_MICROSCALED.
bool is_microscaled(const tern_device_op& op);
/// A product of float8, without blocks.
bool is_float8(const tern_device_op& op);
/// Whether the library sums a product of float8 in fewer digits than a result of the type `result` may lose: float32
/// keeps its own where nothing permits rounding. Not for operands in blocks: the devices that have those sum in
/// float32.
bool rounds_sums(const tern_device_op& op, int result);
/// Without `computes` where the libraries have no such product.
LtTypes lt_types(const tern_device_op& op);

}  // namespace tern::gpu
