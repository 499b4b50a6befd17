// Products of few rows by matrices whose columns lie whole, as decoders of text have them: reading the matrix takes the
// time. In an order of the device's own.
#pragma once

#include <cstdint>

#include "kernels/portable/products.h"

namespace tern::portable {

constexpr std::int64_t kMostFewRows = 8;  ///< an item has them all; more read the matrix again

/// By columns of numbers: b.depth_step is 1.
void add_row_product(const KernelCall& c, Launches& list, const ProductOperand& a, const ProductOperand& b,
                     const TensorView* bias);

/// By input 1, a quantized value: strides of b.planes count its matrices.
void add_quantized_row_product(const KernelCall& c, Launches& list, const ProductOperand& a, const ProductOperand& b,
                               const TensorView* bias);

}  // namespace tern::portable
