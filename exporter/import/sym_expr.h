// Sympy expressions of a .pt2 file as sizes of a program.
#pragma once

#include <functional>
#include <string>

#include "exporter/pt2/sympy.h"
#include "schema/dim.h"

namespace tern::importing {

/// Returns the size of a symbol in the expression.
using SymbolLookup = std::function<Dim(const pt2::SymNode& symbol)>;

enum class Quotients {
  exact,    ///< true division and fractions are exact and must end in a rounding (FloorToInt, CeilToInt, TruncToInt)
            ///< or cancel out
  doubles,  ///< fractions and functions of fractions are doubles, as in Python
};

/// Converts the expression to a Dim. False, with the function's name in `obstacle`, for non-integers and functions
/// unknown to sizes.
bool to_dim(ExprPool& pool, const pt2::SymExpr& expr, const SymbolLookup& symbol, Dim* result, std::string* reason,
            Quotients quotients = Quotients::exact);

}  // namespace tern::importing
