// Products of many rows with operands staged first (staged_matrix.h): with quantized matrices, and of float32 rounded
// to 16 bits.
#pragma once

#include "kernels/portable/library_launches.h"

namespace tern::portable {

/// Multiplication type of both operands: 16 bits if the rows have 16 bits or may be rounded to 16 bits, and matrix
/// units support the type.
DType product_type(const KernelCall& c, const Target& target, DType rows);
/// The rows, converted to `t` by a launch if they have another type.
ProductOperand rows_of_type(const KernelCall& c, Launches& list, const ProductOperand& a, DType t);

/// `a` and `b` are inputs 0 and 1; for a quantized b, strides of b.planes count matrices. Returns false without adding
/// launches if another kernel computes the product. The bits are device-specific.
bool add_staged_product(const KernelCall& c, LibraryLaunches& list, const ProductOperand& a, const ProductOperand& b);

}  // namespace tern::portable
