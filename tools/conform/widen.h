// A program as float64 arithmetic computes it.
#pragma once

#include "schema/program.h"

namespace tern {

/// float64 for float16, bfloat16 and float32, complex128 for the narrower complex types; other types stay.
DType widened(DType dtype);

/// Gives all values, states, constants and casts the widened types, so that no result on the way is rounded to a
/// narrower one. The result need not be valid: an op may need the types that it had (a bitcast).
void widen(Program& program);

}  // namespace tern
