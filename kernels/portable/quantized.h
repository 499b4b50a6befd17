// Quantized operands in the kernels' text.
#pragma once

#include <string>

#include "dtypes/blocks.h"
#include "kernels/portable/launches.h"

namespace tern::portable {

/// Declares operand `index` as bytes `name`, and a macro of that name in capitals: X(row, column) is a number of the
/// matrix, as dequantize_row (dtypes/blocks.h) makes it. Unless it is sparse, X_NUMBER(x, scale, zero) makes the number
/// of an element, of X_SCALE(row, column) and X_ZERO(row, column), which a block shares.
void declare_quantized(Launch& k, const std::string& name, std::size_t index, const QuantizedMatrix& m);

}  // namespace tern::portable
