// The derivatives of the scalar operations of pointwise expressions.
#pragma once

#include <string_view>

#include "schema/pointwise.h"

namespace tern {

/// Derivatives by each operand as texts (exporter/expr_text.h) over the operands a, b and the result r. "0" and "1" are
/// the numbers; an empty text means no derivative.
struct ScalarSlope {
  Scalar op = Scalar::invalid;
  std::string_view slope_a, slope_b;
  std::string_view complex_a, complex_b;  ///< complex numbers, if different
};

/// Null for derivatives without a text: operations on complex components, choices, conversions.
const ScalarSlope* find_scalar_slope(Scalar op);

}  // namespace tern
