// Products and convolutions of dequantized operands become products of their integers.
#pragma once

#include "schema/program.h"

namespace tern {

/// Where a product or convolution reads (q - zero) * scale of integers q of 8 bits, with one scale and zero point for
/// all or one for each row, and a constant weight whose numbers are int8 elements times a scale for each column or for
/// all (found by value: exporter/passes/quantized/fit.h), it reads q and the elements, and sums integers exactly. The
/// scales, what the zero point adds to a sum, and the bias follow in one pointwise node. PyTorch's reference computes
/// the same product of the dequantized operands in float32: results agree within its rounding.
void multiply_integers(Program& program);

}  // namespace tern
