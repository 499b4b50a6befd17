// Products of few rows with matrices stored by columns, typical of text decoders: the time of reading the matrix
// dominates. The order of sums is the device's own.
#pragma once

#include <cstdint>

#include "kernels/portable/products.h"

namespace tern::portable {

constexpr std::int64_t kMostFewRows = 8;  ///< largest number of rows per item; further rows read the matrix again

/// Columns of plain numbers: b.depth_step is 1.
void add_row_product(const KernelCall& c, Launches& list, const ProductOperand& a, const ProductOperand& b,
                     const TensorView* bias);

/// Right operand is input 1, a quantized value: strides of b.planes count its matrices.
void add_quantized_row_product(const KernelCall& c, Launches& list, const ProductOperand& a, const ProductOperand& b,
                               const TensorView* bias);

}  // namespace tern::portable
