// Helpers of the lowerings of elementwise operators: an expression over the arguments of a call, by their schema names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "exporter/lower/lower.h"

namespace tern {

using Values = std::vector<ValueId>;

/// A named operand from an argument: a tensor, a number known at export, or a symbolic integer as a tensor.
ExprArg expr_arg(Builder& b, const Call& c, std::string_view name);

/// PyTorch's compute dtype for these arguments (torch.result_type). Tensors with dimensions outrank tensors without,
/// and these outrank Python numbers; a lower rank only widens the kind of number.
DType common_dtype(Builder& b, const Call& c, const std::vector<std::string_view>& names);

/// Compute type of an expression.
enum class ComputeIn {
  result,    ///< the result's type: arithmetic
  factors,   ///< the result's type, but a single number `other` keeps digits lost in 16 bits
  operands,  ///< the common type of the operands: comparisons
  self,      ///< the first operand's type: predicates
  floating,  ///< the common type of the operands, float for integers
  boolean,   ///< operands only count as true or false
};

/// Lowers the expression over the named arguments of the call, as result 0. Operands, numbers included, are converted
/// to their common type like in PyTorch; settings of the operator (alpha, value, beta ...) only if the text says so.
ValueId lower_text(Builder& b, const Call& c, std::string_view text, ComputeIn compute = ComputeIn::result);

/// The halves of glu's operand along `axis`: values and gates.
struct GluHalves {
  ValueId values, gates;
};
GluHalves glu_halves(Builder& b, ValueId x, std::int64_t axis);

/// True if `other` is a number or a tensor of one element: PyTorch multiplies and divides by its unrounded value.
bool is_single(Builder& b, const Call& c, ArgumentName name);

/// Explicit conversion in PyTorch. Values out of range for float8_e4m3fn become NaN in programs of PyTorch before 2.15,
/// the largest number in later programs.
ValueId convert_to(Builder& b, const Call& c, ValueId x, DType dtype);

/// A value of this shape from the session's generator; `kind` as in the rule of the op random.
ValueId random_value(Builder& b, std::string_view kind, Dims sizes, DType dtype);

// The families of this table, a file each.
std::vector<Lowering> text_lowerings();  ///< pointwise_table.cpp: single-expression operators
std::span<const Lowering> arithmetic_lowerings();
std::span<const Lowering> activation_lowerings();
std::span<const Lowering> cast_lowerings();
std::span<const Lowering> window_lowerings();  ///< window functions
std::span<const Lowering> number_lowerings();  ///< predicates, parts of complex numbers, rounding

}  // namespace tern
