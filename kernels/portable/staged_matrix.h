// Matrices of a product that are brought into the node's scratch first, in the type that they are multiplied in.
#pragma once

#include <cstdint>

#include "kernels/portable/products.h"

namespace tern::portable {

/// Lines of numbers, which in scratch begin at multiples of 16 bytes.
struct StagedLines {
  std::int64_t planes, lines, length;
  bool turned;  ///< lines lie across the depth
  std::int64_t stride() const { return (length + 7) / 8 * 8; }
  std::uint64_t bytes(DType t) const { return static_cast<std::uint64_t>(planes * lines * stride() * element_size(t)); }
};

/// `count` columns of the right operand, or rows of the left one, as they lie in the node's input `view`. Where that is
/// quantized, strides of from.planes count its matrices.
StagedLines staged_lines(const TensorView& view, const ProductOperand& from, std::int64_t count);

/// Those from `first` on, as elements of `t` (float32 or 16 bits) from byte `scratch` on.
ProductOperand stage(Launches& list, const TensorView& view, const ProductOperand& from, std::int64_t first,
                     std::int64_t count, DType t, std::uint64_t scratch);

}  // namespace tern::portable
