// Element types of the libraries' products, and their compute types.
#pragma once

#include <tern/device.h>

#include <cstdint>
#include <vector>

namespace tern::gpu {

enum class LtFactor { single, wide, integer };  ///< float, double, int32

struct LtTypes {
  int a = 0, b = 0, out = 0;  ///< the library's types (cudaDataType); a belongs to Tern's b
  std::uint32_t bytes = 0;    ///< bytes per operand element
  std::uint32_t out_bytes = 0;
  LtFactor factor = LtFactor::single;  ///< type of alpha and beta
  int scale = 0;                       ///< the same as a library type
  std::vector<int> computes;           ///< preferred type first
};

/// A product with a right operand in scaled blocks: tern/device.h, TERN_DEVICE_PARTITION_MICROSCALED.
bool is_microscaled(const tern_device_op& op);
/// True for a float8 product without blocks.
bool is_float8(const tern_device_op& op);
/// True if the library's sums of a float8 product are less precise than allowed for `result`: float32 results must keep
/// float32 precision unless rounding is permitted. Not for operands in blocks: devices with support for blocks sum in
/// float32.
bool rounds_sums(const tern_device_op& op, int result);
/// Returns empty `computes` if the libraries lack the product.
LtTypes lt_types(const tern_device_op& op);

}  // namespace tern::gpu
