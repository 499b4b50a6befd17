// Element types in the kernels' text: their names, conversions between them, and arithmetic on them.
#pragma once

#include <tern/dtype.h>

#include <string>

#include "dtypes/overflow.h"

namespace tern::portable {

/// The suffix that names a type in texts: "f16", "boolean". `tern_` + it is the type of an element in memory.
std::string type_name(DType t);
/// The type that holds one element: "tern_f16" (its code), "tern_i32", "tern_c64".
std::string c_type(DType t);
/// The expression that converts `value` (of c_type(from)) to c_type(to), as cast_to of dtypes/cast.h.
std::string converted(DType from, DType to, const std::string& value, Overflow overflow = Overflow::saturate);
/// A constant of type `t`.
std::string literal(DType t, double real, double imaginary = 0);
std::string literal(DType t, std::int64_t value);
/// The compute type of `t`, booleans counting as i64: what reductions and products are made in.
DType number_type(DType t);
/// The constant that every element of `t`, a compute type, is at least (or at most) as large as.
std::string lowest_or_highest(DType t, bool lowest);
/// What sums of `t`, a compute type, are made in: double for float where the device has it.
DType wide_type(DType t, bool has_double);
/// Whether texts about `t` use double.
bool needs_double(DType t);

}  // namespace tern::portable
