// Products by 2:4 sparse weights of 16 bits, multiplied as they are stored, on devices with sparse matrix units.
#pragma once

#include "kernels/portable/library_launches.h"

namespace tern::portable {

/// Adds the product with the weight `b`, input 1; false if the node needs another form. Reads the places of a constant
/// weight once, because a block with two elements at one place, or in another order, needs another form too.
bool add_sparse_product(const KernelCall& c, LibraryLaunches& list, const ProductOperand& a, const ProductOperand& b);

}  // namespace tern::portable
