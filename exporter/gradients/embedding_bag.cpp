// Rule of embedding_bag: each row of a bag gets the bag's gradient; maxima send theirs to the row of origin.
#include "exporter/gradients/notes.h"
#include "exporter/gradients/rules.h"
#include "exporter/gradients/shapes.h"
#include "schema/kinds.h"

namespace tern {

void differentiate_embedding_bag(GradientCall& c) {
  Builder& b = c.b;
  const ValueId g = c.grad(0), table = c.operand(0), indices = c.operand(1);
  if (g == kNoValue) return;
  const DType compute_dtype = compute_type(b.dtype(table));
  const auto kind = static_cast<BagKind>(c.node.integer(AttrKey::kind));
  if (kind == BagKind::max) {
    const ValueId row_index = c.result(3);
    const ValueId row = b.expr("max(i, 0)", {{"i", row_index}}, DType::i64);
    const ValueId is_empty_bag = b.expr("i < 0", {{"i", row_index}}, DType::i64, DType::boolean);
    return c.add_gradient(
        0, scatter_sum(b, b.shape(table), 0, row, b.expr("n ? 0 : g", {{"n", is_empty_bag}, {"g", g}}, compute_dtype)));
  }
  const double padding = static_cast<double>(c.node.integer(AttrKey::padding_index));
  const ValueId bag_of = c.result(1);
  const ValueId bag = b.expr("max(i, 0)", {{"i", bag_of}}, DType::i64);
  const ValueId left_out =
      b.expr("b < 0 || i == p", {{"b", bag_of}, {"i", indices}, {"p", padding}}, DType::i64, DType::boolean);
  ValueId scale = b.full({}, 1, compute_dtype);
  if (kind == BagKind::mean) {
    const ValueId size = b.index_select(c.result(2), bag, 0);
    scale = b.expr("1 / n", {{"n", b.expr("max(n, 1)", {{"n", size}}, DType::i64, compute_dtype)}}, compute_dtype);
  } else if (c.has_operand(3)) {
    scale = b.cast(c.operand(3), compute_dtype);
  }
  if (gradient_note(c.node, kFrequencyNote)) {
    scale = b.expr("s / n", {{"s", scale}, {"n", times_read(b, indices, b.size(table, 0))}}, compute_dtype);
  }
  const ValueId rows = b.cast(b.index_select(g, bag, 0), compute_dtype);
  if (c.needs_gradient(0)) {
    const ValueId factor = b.expr("o ? 0 : s", {{"o", left_out}, {"s", scale}}, compute_dtype);
    const ValueId row_gradients = b.expr("r * f", {{"r", rows}, {"f", b.unsqueeze(factor, -1)}}, compute_dtype);
    c.add_gradient(0, b.add(Op::index_put, {b.full(b.shape(table), 0, compute_dtype), row_gradients, indices},
                            {attr(AttrKey::accumulate, Dim(1))}));
  }
  if (c.needs_gradient(3)) {
    const ValueId products = b.expr("r * t", {{"r", rows}, {"t", b.index_select(table, indices, 0)}}, compute_dtype);
    const ValueId sums = b.reduce(products, "sum", {1}, false, compute_dtype);
    c.add_gradient(3, b.expr("o ? 0 : s", {{"o", left_out}, {"s", sums}}, compute_dtype));
  }
}

}  // namespace tern
