// Products of many rows with operands staged first (staged_matrix.h): with quantized matrices, and of float32 rounded
// to 16 bits.
#pragma once

#include "kernels/portable/library_launches.h"

namespace tern::portable {

/// `a` and `b` lie in inputs 0 and 1; of a quantized b, strides of b.planes count matrices. False, and nothing is
/// added, where the product is made otherwise. With bits of the device's own.
bool add_staged_product(const KernelCall& c, LibraryLaunches& list, const ProductOperand& a, const ProductOperand& b);

}  // namespace tern::portable
