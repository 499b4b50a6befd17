// Products by weights that a program keeps as small elements, scales and zero points read one quantized value.
#pragma once

#include "schema/program.h"

namespace tern {

/// Looks at the second operand of each product. Where constants alone compute it, and small elements times scales that
/// occur in the computation give its numbers bit for bit (exporter/quantized/fit.h), the product reads a quantized
/// state instead: whatever operators unpacked the elements. So it does where the operand is a dequantized value
/// already. Nothing else of the program changes; states that nothing reads then go.
void read_quantized_weights(Program& program);

}  // namespace tern
