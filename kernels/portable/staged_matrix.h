// Matrices of a product copied to the node's scratch first, converted to the type of multiplication.
#pragma once

#include <cstdint>

#include "kernels/portable/products.h"

namespace tern::portable {

/// Lines of numbers, starting at multiples of 16 bytes in the scratch.
struct StagedLines {
  std::int64_t planes, lines, length;
  bool turned;  ///< lines run across the depth
  std::int64_t stride() const { return (length + 7) / 8 * 8; }
  std::uint64_t bytes(DType t) const { return static_cast<std::uint64_t>(planes * lines * stride() * element_size(t)); }
};

/// `count` columns of the right operand, or rows of the left operand, in the layout of the node's input `view`. For a
/// quantized view, strides of from.planes count its matrices.
StagedLines staged_lines(const TensorView& view, const ProductOperand& from, std::int64_t count);

/// Stages `count` lines starting at `first`, as elements of `t` (float32 or 16 bits), to the scratch from byte
/// `scratch` on.
ProductOperand stage(Launches& list, const TensorView& view, const ProductOperand& from, std::int64_t first,
                     std::int64_t count, DType t, std::uint64_t scratch);

}  // namespace tern::portable
