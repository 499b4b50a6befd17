// Builds a function of a Program: adds nodes typed by the shape rules, and offers small compositions for lowerings.
#pragma once

#include <complex>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include "schema/infer.h"
#include "schema/program.h"

namespace tern {

/// A named operand of Builder::expr: a tensor value or a number known at export.
struct ExprArg {
  ExprArg(std::string_view n, ValueId v) : name(n), value(v) {}
  ExprArg(std::string_view n, double v) : name(n), number(v) {}
  ExprArg(std::string_view n, std::complex<double> v) : name(n), number(v) {}
  std::string_view name;
  ValueId value = kNoValue;
  std::complex<double> number = 0;
};

class Builder {
 public:
  Builder(Program& program, std::uint32_t function) : program_(program), function_(function) {}

  Program& program() { return program_; }
  ExprPool& pool() { return program_.pool; }
  Function& function() { return program_.functions[function_]; }
  std::uint32_t function_index() const { return function_; }
  /// Given to every node added from now on.
  void set_origin(std::int32_t origin, std::vector<Annotation> annotations = {});

  const TensorType& type(ValueId v) { return function().values[static_cast<std::size_t>(v)].type; }
  DType dtype(ValueId v) { return type(v).dtype; }
  const Dims& shape(ValueId v) { return type(v).shape; }
  int rank(ValueId v) { return type(v).rank(); }
  Dim size(ValueId v, std::int64_t axis);  ///< axis may be negative

  /// A value without a producer: an input of the function.
  ValueId add_value(TensorType type, std::string name = {});
  /// Adds a node with inferred output types. Returns all outputs.
  std::vector<ValueId> add(Node node);
  /// Adds a node with the usual fields; returns output 0.
  ValueId add(Op op, std::vector<ValueId> inputs, std::vector<Attr> attrs = {});
  std::vector<ValueId> add_all(Op op, std::vector<ValueId> inputs, std::vector<Attr> attrs = {});

  /// Adds a pointwise expression in a small language (exporter/expr_text.h): C-like operators (+ - * / unary - == != <
  /// <= > >= & | ^ ~ << >> && || !), `c ? a : b`, numbers, pi, inf, nan, and calls of the scalar operations by name:
  /// where(x > 0, x, a * expm1(x)). Operands are converted to `compute` first, except conditions of where / ?: and
  /// operands of && || !, converted to boolean. The result is converted to `result`. Operands broadcast. Example:
  /// expr("x * sigmoid(x)", {{"x", v}}, f32, f16).
  ValueId expr(std::string_view text, std::vector<ExprArg> args, DType compute, DType result);
  /// Computes in the compute type of `result`.
  ValueId expr(std::string_view text, std::vector<ExprArg> args, DType result) {
    return expr(text, std::move(args), compute_type(result), result);
  }

  // Movement. Axes may be negative.
  ValueId cast(ValueId x, DType dtype);  ///< returns x if its type is `dtype` already
  ValueId reshape(ValueId x, Dims sizes);
  ValueId flatten(ValueId x) { return reshape(x, {numel(x)}); }
  ValueId permute(ValueId x, const std::vector<std::int64_t>& axes);
  ValueId transpose(ValueId x, std::int64_t a, std::int64_t b);
  ValueId expand(ValueId x, Dims sizes);
  ValueId slice(ValueId x, std::int64_t axis, Dim start, Dim length, std::int64_t step = 1);
  ValueId select(ValueId x, std::int64_t axis, Dim index);  ///< drops the axis
  ValueId unsqueeze(ValueId x, std::int64_t axis);
  ValueId squeeze(ValueId x, std::int64_t axis);
  ValueId flip(ValueId x, const std::vector<std::int64_t>& axes);
  ValueId as_strided(ValueId x, Dims sizes, Dims strides, Dim offset);
  ValueId concat(std::vector<ValueId> xs, std::int64_t axis);
  ValueId pad(ValueId x, Dims padding_before, Dims padding_after,
              double value = 0);  ///< constant padding; negative crops
  ValueId move_axis(ValueId x, std::int64_t source_axis, std::int64_t target_axis);

  // Sources
  ValueId full(Dims sizes, std::complex<double> value, DType dtype);
  ValueId scalar(double value, DType dtype) { return full({}, value, dtype); }
  ValueId iota(Dim size, DType dtype, double start = 0, double step = 1);  ///< start + i * step
  ValueId from_dim(Dim d, DType dtype = DType::i64);                       ///< no dimensions
  /// A constant tensor held in the program's state.
  ValueId constant(DType dtype, const std::vector<std::int64_t>& sizes, const void* bytes);

  // Work
  ValueId reduce(ValueId x, std::string_view kind, const std::vector<std::int64_t>& axes, bool keepdims, DType dtype);
  ValueId matmul(ValueId a, ValueId b);
  ValueId index_select(ValueId x, ValueId index, std::int64_t axis);
  ValueId gather(ValueId x, ValueId index, std::int64_t axis);

  Dim numel(ValueId v);
  std::int64_t normal_axis(ValueId v, std::int64_t axis);  ///< checked, from 0
  std::vector<std::int64_t> all_axes(ValueId v);

 private:
  Program& program_;
  std::uint32_t function_;
  std::int32_t origin_ = -1;
  std::vector<Annotation> annotations_;
};

/// PyTorch's promotion of two dtypes (c10::promoteTypes).
DType promote(DType a, DType b);
/// The dtype of a division of integers and the like: float32 for integers and booleans, else the dtype itself.
DType to_floating(DType t);

Attr attr(AttrKey key, Dim v);
Attr attr(AttrKey key, Dims v);
Attr attr(AttrKey key, const std::vector<std::int64_t>& v);
Attr attr_number(AttrKey key, double v);
Attr attr_numbers(AttrKey key, std::vector<double> v);
Attr attr_text(AttrKey key, std::string_view v);
Attr attr_dtype(DType t);

}  // namespace tern
