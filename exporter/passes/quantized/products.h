// Weights that a program keeps as small elements, scales and zero points become one quantized value each.
#pragma once

#include "schema/program.h"

namespace tern {

/// Looks at the second operand of each product, also of batches, groups and convolutions, and at tables whose rows are
/// selected. Where constants alone compute it, and small elements times scales that occur in the computation give its
/// numbers bit for bit (exporter/passes/quantized/fit.h), the node reads a quantized state instead: whatever operators
/// unpacked the elements. So it does where the operand is a dequantized value already. Nothing else of the program
/// changes; states that nothing reads then go.
void read_quantized_weights(Program& program);

/// The same of tables, and of products by those tables, alone: before passes that take such computations apart.
void read_quantized_tables(Program& program);

}  // namespace tern
