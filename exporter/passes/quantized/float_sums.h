// Sums of integers that are only read as floats become floats where they are made.
#pragma once

#include "schema/program.h"

namespace tern {

/// Products and convolutions of 8-bit integers with a result of int32 that pointwise nodes alone read, through views or
/// not, and at once convert to float32, give float32: the same numbers, rounded once, and what is done to them then can
/// be done while they are made.
void take_float_sums(Program& program);

}  // namespace tern
