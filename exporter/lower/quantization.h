// Helpers and tables of the lowerings of quantized operators.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "exporter/lower/lower.h"

namespace tern {

std::span<const Lowering> decomposed_lowerings();            ///< quantized_decomposed: quantize, dequantize
std::span<const Lowering> decomposed_parameter_lowerings();  ///< quantized_decomposed: choose_qparams
std::span<const Lowering> decomposed_operator_lowerings();   ///< quantized_decomposed: embeddings, add
std::span<const Lowering> torchao_affine_lowerings();        ///< torchao: affine primitives
std::span<const Lowering> torchao_float8_lowerings();        ///< torchao: float8 primitives
std::span<const Lowering> fake_quantize_lowerings();
std::span<const Lowering> observer_lowerings();         ///< scales and zero points of observed ranges
std::span<const Lowering> packed_product_lowerings();   ///< products with packed weights
std::span<const Lowering> dynamic_product_lowerings();  ///< products with run-time quantized rows
std::span<const Lowering> semi_structured_lowerings();  ///< products with 2:4 sparse matrices
std::span<const Lowering> scaled_product_lowerings();   ///< float8 products with scales
std::span<const Lowering> scaled_grouped_product_lowerings();

/// Subexpression with the dtype of PyTorch's operator; `invalid` marks a Python number, adopting the other operand's
/// type.
struct Term {
  std::string text;
  DType dtype = DType::invalid;
};

/// Expression of several PyTorch operators, each rounding to the promoted dtype of its operands.
class Steps {
 public:
  explicit Steps(Builder& b) : b_(b) {}

  Term tensor(std::string_view name, ValueId v);
  Term number(double v);  ///< a Python number
  /// The argument `name` of the call: a tensor or a number.
  Term argument(const Call& c, std::string_view name);
  Term apply(const Term& x, std::string_view op, const Term& y);  ///< op: + - * /
  Term cast(const Term& x, DType dtype);
  Term round(const Term& x);                              ///< half to even
  Term clamp(const Term& x, double lower, double upper);  ///< bounds are Python numbers, rounded to the dtype of x
  Term clamp_min(const Term& x, double lower);
  Term clamp_max(const Term& x, double upper);
  Term larger(const Term& x, const Term& y);
  Term clamp_min_zero(const Term& x);
  Term clamp_max_zero(const Term& x);
  Term negated(const Term& x);
  /// Adds the node; an invalid `result` means the dtype of the term.
  ValueId finish(const Term& x, DType result = DType::invalid);

 private:
  Builder& b_;
  std::vector<ExprArg> args_;
  bool has_double_ = false;  ///< float64 is involved
};

/// Rounds `v` to dtype `t`.
double rounded_to(double v, DType t);
/// The least and the greatest number of a quantized dtype.
struct QuantizedRange {
  double min, max;
};
std::optional<QuantizedRange> range_of(DType t);

/// Tensor divided into blocks of a common scale.
struct BlockAxes {
  Dims split;                             ///< sizes of x, each axis of several blocks split in two
  Dims shared;                            ///< `split` with 1 along the axes within a block: sizes of scales
  Dims counts;                            ///< block counts along each axis of x
  std::vector<std::int64_t> within_axes;  ///< the axes of `split` within a block
};
BlockAxes blocks_of(Builder& b, const Call& c, ValueId x, const Dims& block);
/// Reshapes scales or zero points to broadcast to BlockAxes::split.
ValueId per_block(Builder& b, ValueId parameter, const BlockAxes& blocks);
/// Reshapes scales or zero points to broadcast along `axis` of x.
ValueId per_channel(Builder& b, ValueId parameter, ValueId x, std::int64_t axis);

/// (x - zero_point) * scale of a matrix, with groups of `group` elements along its rows; zero_points may be kNoValue.
ValueId dequantized_groups(Builder& b, const Call& c, ValueId x, ValueId scales, ValueId zero_points, Dim group,
                           DType result);

/// The product of int8 or uint8 matrices in int32.
ValueId integer_product(Builder& b, ValueId x, ValueId y);
/// Splits a matrix of bytes into twice as many columns: the low half of each byte, then the high half.
ValueId unpacked_pairs(Builder& b, ValueId x);

/// Values rounded to a quantized dtype's grid and back, and the mask of values within its range. The arguments are
/// named "scale" and "zero_point". As in PyTorch, gradients pass unchanged within the range, and the arguments have
/// none.
struct FakeQuantized {
  ValueId value, mask;
};
FakeQuantized fake_quantized(Builder& b, ValueId x, const ExprArg& scale, const ExprArg& zero_point, double lower,
                             double upper);

}  // namespace tern
