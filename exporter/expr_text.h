// The small language of Builder::expr: compiles an expression's text into the instructions of a pointwise node.
#pragma once

#include <tern/dtype.h>

#include <string_view>
#include <vector>

#include "exporter/builder.h"
#include "schema/pointwise.h"

namespace tern {

/// Grammar, from the loosest binding to the tightest; the rules of C hold where nothing else is said:
///   text     name = choice ; ... choice           names given to parts, for the expressions after them
///   choice   a ? b : c
///   binary   ||  &&  |  ^  &  == !=  < <= > >=  << >>  + -  * / %      (% is `remainder`: the sign of the divisor)
///   unary    - ! ~
///   primary  number, pi, inf, nan, true, false, name, (choice), function(choice, ...)
/// Functions are the scalar operations by name (schema/pointwise.h), and
///   index(k)         the position along axis k, a literal
///   bool(x)          x != 0
///   rounded(x)       x rounded to the result's type, as if it had been stored
///   bfloat16(x) ...  x computed in the compute type of that dtype, rounded to the dtype, and a number of `compute`
///   again:
///                    an operator of PyTorch whose operands promote to the dtype. float64(1 / s), int8(x - z)
///
/// Types: a name, a number and what is computed of them have the type `compute`; comparisons and predicates are
/// boolean, real(), imag(), abs() and angle() of complex numbers are real, and so are sums and products of nothing but
/// those. Where types differ, operands are converted: to boolean as operands of && || ! and the condition of ?: and
/// where(), to the real type as operands of complex(), else to `compute`. The result is converted to `result`.
///
/// The tensors among `args` are the inputs 0, 1, ... in order, of the types `input_dtypes`; numbers become constants.
/// Equal parts are computed once. Fails (internal) where the text is wrong: texts are part of the importer.
PointwiseExpr compile_expr(std::string_view text, const std::vector<ExprArg>& args,
                           const std::vector<DType>& input_dtypes, DType compute, DType result);

}  // namespace tern
