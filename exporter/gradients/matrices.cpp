#include "exporter/gradients/matrices.h"

#include "exporter/gradients/differentiate.h"

namespace tern {
namespace {

/// Boolean matrix, true on the diagonal.
ValueId diagonal_mask(Builder& b, ValueId x) {
  const Dim rows = b.size(x, -2), columns = b.size(x, -1);
  const ValueId row = b.reshape(b.iota(rows, DType::i64), {rows, 1}), column = b.iota(columns, DType::i64);
  return b.expr("r == c", {{"r", row}, {"c", column}}, DType::i64, DType::boolean);
}

}  // namespace

ValueId times(Builder& b, ValueId x, ValueId y) {
  return b.matmul(x, y);
}
ValueId hermitian(Builder& b, ValueId x) {
  return adjoint(b, x);
}
ValueId diagonal_part(Builder& b, ValueId x) {
  return b.expr("d ? x : 0", {{"d", diagonal_mask(b, x)}, {"x", x}}, b.dtype(x));
}
ValueId lower_half(Builder& b, ValueId x) {
  const ValueId lower = triangle(b, x, true);
  return b.expr("d ? x * 0.5 : x", {{"d", diagonal_mask(b, x)}, {"x", lower}}, b.dtype(x));
}
ValueId add_adjoint(Builder& b, ValueId x) {
  return b.expr("x + y", {{"x", x}, {"y", adjoint(b, x)}}, b.dtype(x));
}
ValueId hermitian_part(Builder& b, ValueId x) {
  return b.expr("(x + y) * 0.5", {{"x", x}, {"y", adjoint(b, x)}}, b.dtype(x));
}
ValueId scale_columns(Builder& b, ValueId x, ValueId v) {
  return b.expr("x * v", {{"x", x}, {"v", b.unsqueeze(v, -2)}}, b.dtype(x));
}
ValueId scale_rows(Builder& b, ValueId x, ValueId v) {
  return b.expr("x * v", {{"x", x}, {"v", b.unsqueeze(v, -1)}}, b.dtype(x));
}
ValueId differences(Builder& b, ValueId v) {
  return b.expr("j - i", {{"j", b.unsqueeze(v, -2)}, {"i", b.unsqueeze(v, -1)}}, b.dtype(v));
}
ValueId add_optional(Builder& b, ValueId x, ValueId y) {
  return add_gradients(b, x, y);
}
ValueId imaginary_diagonal(Builder& b, ValueId x) {
  const DType t = b.dtype(x);
  return b.expr("d ? complex(0 * real(x), imag(x)) : 0", {{"d", diagonal_mask(b, x)}, {"x", x}}, t);
}

}  // namespace tern
