// Sympy expressions of a .pt2 file as sizes of a program.
#pragma once

#include <functional>
#include <string>

#include "exporter/pt2/sympy.h"
#include "schema/dim.h"

namespace tern::importing {

/// Gives the size that a symbol of the expression stands for.
using SymbolLookup = std::function<Dim(const pt2::SymNode& symbol)>;

enum class Quotients {
  exact,    ///< true division and fractions are exact and must end in a rounding (FloorToInt, CeilToInt, TruncToInt)
            ///< or cancel out
  doubles,  ///< fractions and functions of them are doubles, as Python computes them
};

/// The expression's value as a Dim. False, with `why` naming the function, when it is no integer or needs a function
/// that sizes do not have.
bool to_dim(ExprPool& pool, const pt2::SymExpr& expr, const SymbolLookup& symbol, Dim* out, std::string* why,
            Quotients quotients = Quotients::exact);

}  // namespace tern::importing
