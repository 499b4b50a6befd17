// Gradients of matrix products.
#include "exporter/gradients/permuted.h"
#include "exporter/gradients/rule.h"

namespace tern {
namespace {

/// The numbers of a quantized value.
ValueId numbers(Builder& b, ValueId quantized, DType t) {
  return b.add(Op::dequantize, {quantized}, {attr_dtype(t)});
}

/// Joins the rows of all batches into one matrix.
ValueId as_rows(Builder& b, ValueId x) {
  const Dims sizes = b.shape(x);
  const Dim rows = b.pool().product(std::span(sizes).first(sizes.size() - 1));
  return b.reshape(x, {rows, sizes.back()});
}

/// y = a b + bias: a gets g b^H, b gets a^H g, the bias gets g. add_gradient() sums broadcast leading axes; a matrix b
/// common to all batches gets its sum from one product over all rows.
void matmul(GradientCall& c) {
  Builder& b = c.b;
  // A product in the dtype of the result: 16-bit operands can have a float32 result.
  const DType t = b.dtype(c.operand(0));
  const ValueId g = b.cast(c.grad(0), t);
  c.add_gradient(2, c.grad(0));
  if (b.type(c.operand(1)).quantized()) {  // held by columns: transposed already
    return c.add_gradient(0, b.matmul(g, numbers(b, c.operand(1), t)));
  }
  const ValueId x = b.cast(c.operand(0), t), w = b.cast(c.operand(1), t);
  if (c.needs_gradient(0)) c.add_gradient(0, b.matmul(g, c.conj(transposed_matrix(c, w))));
  if (c.needs_gradient(1)) {
    const bool shared = b.rank(w) == 2 && b.rank(x) > 2;
    const ValueId rows = shared ? as_rows(b, x) : x, of_rows = shared ? as_rows(b, g) : g;
    // A transposed weight gets its gradient in the stored order: (a^H g)^T = g^T conj(a).
    if (b.rank(rows) == 2 && is_transposed(c, w)) {
      c.add_gradient(1, transposed_matrix(c, b.matmul(transposed_matrix(c, of_rows), c.conj(rows))));
    } else {
      c.add_gradient(1, b.matmul(c.conj(transposed_matrix(c, rows)), of_rows));
    }
  }
}

/// Rows are multiplied by the transposed matrix of their group. A matrix gets x^H g over the rows of its group,
/// computed over all rows with zeros for the rows of other groups.
void grouped_matmul(GradientCall& c) {
  Builder& b = c.b;
  const ValueId x = c.operand(0), weight = c.operand(1), offsets = c.operand(2);
  const DType t = b.dtype(x);
  const ValueId g = b.cast(c.grad(0), t);
  if (c.needs_gradient(0)) {
    const bool quantized = b.type(weight).quantized();
    const ValueId transposed_weight =
        quantized ? numbers(b, weight, t) : c.conj(b.transpose(b.cast(weight, t), -1, -2));
    c.add_gradient(0, b.add(Op::grouped_matmul, {g, transposed_weight, offsets}, {attr_dtype(t)}));
  }
  if (!c.needs_gradient(1)) return;
  const ValueId row = b.iota(b.size(x, 0), b.dtype(offsets));
  const ValueId group = b.add(Op::searchsorted, {offsets, row}, {attr(AttrKey::right, Dim(1)), attr_dtype(DType::i64)});
  const Dim groups = b.size(weight, 0);
  const ValueId in_group =
      b.expr("g == e", {{"g", group}, {"e", b.reshape(b.iota(groups, DType::i64), {groups, 1, 1})}}, DType::i64,
             DType::boolean);
  const ValueId rows = b.expr("o ? x : 0", {{"o", in_group}, {"x", c.conj(b.transpose(x, 0, 1))}}, t);
  c.add_gradient(1, b.matmul(rows, g));
}

constexpr GradientEntry kProductsRules[] = {{Op::matmul, matmul}, {Op::grouped_matmul, grouped_matmul}};

}  // namespace

std::span<const GradientEntry> gradients_of_products() {
  return kProductsRules;
}

}  // namespace tern
