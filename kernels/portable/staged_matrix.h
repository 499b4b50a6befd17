// Matrices of a product that are brought into the node's scratch first, in the type that they are multiplied in.
#pragma once

#include <cstdint>

#include "kernels/portable/products.h"

namespace tern::portable {

/// Elements from line to line in scratch: lines begin at multiples of 16 bytes.
constexpr std::int64_t staged_stride(std::int64_t length) {
  return (length + 7) / 8 * 8;
}

/// Columns [first, first + count) of the right operand, or such rows of the left one, as elements of `t` (float32 or 16
/// bits) from byte `scratch` on. Lines of scratch lie along the operand's neighbours. `from` lies in the node's input.
ProductOperand stage(Launches& list, const ProductOperand& from, std::int64_t first, std::int64_t count, DType t,
                     std::uint64_t scratch);
/// The bytes for `count` of them.
std::uint64_t staged_bytes(const ProductOperand& from, std::int64_t count, DType t);

/// The same of a quantized operand `b`. Strides of from.planes count matrices.
ProductOperand stage_quantized(Launches& list, const TensorView& b, const ProductOperand& from, std::int64_t first,
                               std::int64_t count, DType t, std::uint64_t scratch);
std::uint64_t staged_quantized_bytes(const TensorView& b, std::int64_t count, DType t);

}  // namespace tern::portable
