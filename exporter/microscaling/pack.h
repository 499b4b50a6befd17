// Weights that a program keeps in MX blocks and spells out with ordinary operators become single MX values.
#pragma once

#include "schema/program.h"

namespace tern {

/// Looks for values that are computed of constants alone, among them one of element bits and one of float8_e8m0 scales,
/// and that equal, bit for bit, what dequantize makes of those two. Such a value becomes dequantize of one MX
/// state; the states that nothing else reads then go. Comparing values rather than operators makes this right for every
/// way of writing it: PyTorch's and torchao's graphs differ between versions, and after run_decompositions().
void pack_microscaling(Program& program);

}  // namespace tern
