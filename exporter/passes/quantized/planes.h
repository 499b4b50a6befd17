// Slices of a weight that constants compute.
#pragma once

#include "schema/program.h"

namespace tern {

/// People write mixture of experts as a loop over one dequantized weight: w[i] of [experts, n, k]. Where a program
/// reads nothing of such a value but single slices of its first axis, each is computed of slices of what the weight is
/// computed of: the same numbers, one expert at a time. So each expert can become a quantized value of its own.
void take_planes_first(Program& program);

}  // namespace tern
