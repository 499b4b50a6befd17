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

/// The dtype that PyTorch computes these arguments in: tensors with dimensions outrank those without, and those outrank
/// Python numbers, which only widen to another kind of number (torch.result_type).
DType common_dtype(Builder& b, const Call& c, const std::vector<std::string_view>& names);

/// In which type an expression is computed.
enum class ComputeIn {
  result,    ///< that of the result: arithmetic
  factors,   ///< the same; a single number `other` keeps digits that the result's 16 bits do not have
  operands,  ///< the common type of the operands: comparisons
  self,      ///< that of the first operand: predicates
  floating,  ///< the common type of the operands, float for integers
  boolean,   ///< operands only count as true or false
};

/// The expression over those arguments of the call that it names, as result 0. PyTorch converts operands to their
/// common type, numbers too; settings of the operator (alpha, value, beta ...) it does not, unless the text says so.
ValueId lower_text(Builder& b, const Call& c, std::string_view text, ComputeIn compute = ComputeIn::result);

/// Tells whether `other` is a number or a tensor of one element, which PyTorch multiplies and divides by as it is.
bool is_single(Builder& b, const Call& c, ArgumentName name);

/// A conversion that PyTorch was asked for. What does not fit float8_e4m3fn becomes NaN in programs of PyTorch before
/// 2.15, and the largest number in later ones.
ValueId convert_to(Builder& b, const Call& c, ValueId x, DType dtype);

/// A value of this shape from the session's generator; `kind` as in the rule of the op random.
ValueId random_value(Builder& b, std::string_view kind, Dims sizes, DType dtype);

// The families of this table, a file each.
std::vector<Lowering> text_lowerings();  ///< pointwise_table.cpp: those that are one expression
std::span<const Lowering> arithmetic_lowerings();
std::span<const Lowering> activation_lowerings();
std::span<const Lowering> cast_lowerings();
std::span<const Lowering> window_lowerings();  ///< window functions
std::span<const Lowering> number_lowerings();  ///< predicates, parts of complex numbers, rounding

}  // namespace tern
