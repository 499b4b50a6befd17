// The small language of Builder::expr: compiles an expression's text into the instructions of a pointwise node.
#pragma once

#include <tern/dtype.h>

#include <string_view>
#include <vector>

#include "exporter/builder.h"
#include "schema/pointwise.h"

namespace tern {

/// Grammar, from the loosest binding to the tightest; otherwise the rules of C hold:
///   text     name = choice ; ... choice           names subexpressions for later ones
///   choice   a ? b : c
///   binary   ||  &&  |  ^  &  == !=  < <= > >=  << >>  + -  * / %      (% is `remainder`: the sign of the divisor)
///   unary    - ! ~
///   primary  number, pi, inf, nan, true, false, name, (choice), function(choice, ...)
/// Functions are the scalar operations by name (schema/pointwise.h), and
///   index(k)         the position along axis k, a literal
///   bool(x)          x != 0
///   rounded(x)       x rounded to the result's type, as if stored
///   bfloat16(x) ...  x computed in the dtype's compute type, rounded to the dtype, then converted to `compute`:
///                    a PyTorch operator with operands promoted to the dtype. float64(1 / s), int8(x - z)
///
/// Types: names, numbers and arithmetic have the type `compute`; comparisons and predicates are boolean; real(),
/// imag(), abs() and angle() of complex numbers are real, and so are sums and products of real values alone. Operands
/// of other types are converted: to boolean as operands of && || ! and conditions of ?: and where(), to the real type
/// as operands of complex(), else to `compute`. The result is converted to `result`.
///
/// The tensors among `args` are the inputs 0, 1, ... in order, of the types `input_dtypes`; numbers become constants.
/// Equal subexpressions are computed once. Fails (internal) for malformed text: texts are part of the importer.
PointwiseExpr compile_expr(std::string_view text, const std::vector<ExprArg>& args,
                           const std::vector<DType>& input_dtypes, DType compute, DType result);

}  // namespace tern
