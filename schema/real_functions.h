// Names of functions of one double in size expressions.
#pragma once

#include <string_view>

#include "schema/dim.h"

namespace tern {

/// Ordered like RealFunction. Python's math and sympy use these names, too.
inline constexpr std::string_view kRealFunctionNames[kRealFunctionCount] = {
    "floor", "ceil", "trunc", "round", "abs",  "sqrt", "exp",  "log",  "log2",
    "sin",   "cos",  "tan",   "asin",  "acos", "atan", "sinh", "cosh", "tanh"};

}  // namespace tern
