// Quantized operands in the kernels' text.
#pragma once

#include <string>

#include "dtypes/blocks.h"
#include "kernels/portable/launches.h"

namespace tern::portable {

/// Declares operand `index` as bytes `name`, and a macro of the same name in capitals: X(row, column) is a number of
/// the matrix, computed like dequantize_row (dtypes/blocks.h). Except for sparse matrices, X_NUMBER(x, scale, zero)
/// converts an element, with the block's X_SCALE(row, column) and X_ZERO(row, column).
void declare_quantized(Launch& k, const std::string& name, std::size_t index, const QuantizedMatrix& m);

}  // namespace tern::portable
