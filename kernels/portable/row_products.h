// Products of few rows by matrices whose columns lie whole, as decoders of text have them: reading the matrix takes the
// time. In an order of the device's own.
#pragma once

#include <cstdint>

#include "kernels/portable/products.h"

namespace tern::portable {

constexpr std::int64_t kMostRowsOfItem = 8;  ///< more rows read the matrix again

/// By columns of numbers: b.depth_step is 1.
void add_row_product(const KernelCall& c, Launches& list, const ProductOperand& a, const ProductOperand& b,
                     const TensorView* bias);

/// By input 1, a quantized value. `matrices`: its batch axes by number of matrix, with the sizes of the result's.
void add_quantized_row_product(const KernelCall& c, Launches& list, const ProductOperand& a, const TensorView& matrices,
                               const TensorView* bias);

}  // namespace tern::portable
