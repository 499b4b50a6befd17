// The derivatives of the scalar operations of pointwise expressions.
#pragma once

#include <string_view>

#include "schema/pointwise.h"

namespace tern {

/// Derivatives by each operand as texts (exporter/expr_text.h) over the operands a, b and the result r. "0" and "1" are
/// the numbers; an empty text means no derivative.
struct ScalarSlope {
  Scalar op = Scalar::invalid;
  std::string_view for_a, for_b;
  std::string_view complex_a, complex_b;  ///< complex numbers, if different
};

/// Null where the derivative is not a text: operations on parts of complex numbers, choices, conversions.
const ScalarSlope* find_scalar_slope(Scalar op);

}  // namespace tern
