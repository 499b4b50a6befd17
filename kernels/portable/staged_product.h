// Products of many rows with operands staged first (staged_matrix.h): with quantized matrices, and of float32 rounded
// to 16 bits.
#pragma once

#include "kernels/portable/library_launches.h"

namespace tern::portable {

/// `a` and `b` are inputs 0 and 1; for a quantized b, strides of b.planes count matrices. Returns false without adding
/// launches if another kernel computes the product. The bits are device-specific.
bool add_staged_product(const KernelCall& c, LibraryLaunches& list, const ProductOperand& a, const ProductOperand& b);

}  // namespace tern::portable
