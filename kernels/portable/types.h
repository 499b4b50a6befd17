// Element types in the kernels' text: names, conversions and arithmetic.
#pragma once

#include <tern/dtype.h>

#include <string>

#include "dtypes/overflow.h"

namespace tern::portable {

/// The suffix naming a type in texts: "f16", "boolean". `tern_` + suffix is the type of an element in memory.
std::string type_name(DType t);
/// The type of a single element: "tern_f16" (a code), "tern_i32", "tern_c64".
std::string c_type(DType t);
/// The expression converting `value` (of c_type(from)) to c_type(to), like cast_to of dtypes/cast.h.
std::string converted(DType from, DType to, const std::string& value, Overflow overflow = Overflow::saturate);
/// A constant of type `t`.
std::string literal(DType t, double real, double imaginary = 0);
std::string literal(DType t, std::int64_t value);
/// The compute type of `t`, with booleans as i64: the type of reductions and products.
DType number_type(DType t);
/// The lowest (or highest) value of `t`, a compute type.
std::string lowest_or_highest(DType t, bool lowest);
/// The type of sums of `t`, a compute type: double for float if the device has double.
DType wide_type(DType t, bool has_double);
/// True if texts for `t` use double.
bool needs_double(DType t);

}  // namespace tern::portable
