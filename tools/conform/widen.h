// Widens a program to float64 arithmetic.
#pragma once

#include "schema/program.h"

namespace tern {

/// float64 for float16, bfloat16 and float32, complex128 for the narrower complex types; other types stay.
DType widened(DType dtype);

/// Widens the types of all values, states, constants and casts: no intermediate result is rounded to a narrower type.
/// The result may be invalid: an op may need its original types (a bitcast).
void widen(Program& program);

}  // namespace tern
