// Sympy expressions of a .pt2 file as sizes of a program.
#pragma once

#include <functional>
#include <string>

#include "exporter/pt2/sympy.h"
#include "schema/dim.h"

namespace tern::importing {

/// Gives the size that a symbol of the expression stands for.
using SymbolLookup = std::function<Dim(const pt2::SymNode& symbol)>;

/// The expression's value as a Dim. True division and fractions are exact and must end in a rounding (FloorToInt,
/// CeilToInt, TruncToInt) or cancel out. False, with `why` naming the function, when the expression needs more than
/// integers.
bool to_dim(ExprPool& pool, const pt2::SymExpr& expr, const SymbolLookup& symbol, Dim* out, std::string* why);

}  // namespace tern::importing
