// Rule of embedding_bag: each row of a bag gets the bag's gradient; maxima send theirs to the row of origin.
#include "exporter/gradients/notes.h"
#include "exporter/gradients/rules.h"
#include "exporter/gradients/shapes.h"
#include "schema/kinds.h"

namespace tern {

void differentiate_embedding_bag(GradientCall& c) {
  Builder& b = c.b;
  const ValueId g = c.grad(0), table = c.in(0), indices = c.in(1);
  if (g == kNoValue) return;
  const DType wide = compute_type(b.dtype(table));
  const auto kind = static_cast<BagKind>(c.node.integer(AttrKey::kind));
  if (kind == BagKind::max) {
    const ValueId from = c.out(3);
    const ValueId row = b.expr("max(i, 0)", {{"i", from}}, DType::i64);
    const ValueId some = b.expr("i < 0", {{"i", from}}, DType::i64, DType::boolean);
    return c.add_gradient(0,
                          scatter_sum(b, b.shape(table), 0, row, b.expr("n ? 0 : g", {{"n", some}, {"g", g}}, wide)));
  }
  const double padding = static_cast<double>(c.node.integer(AttrKey::padding_index));
  const ValueId bag_of = c.out(1);
  const ValueId bag = b.expr("max(i, 0)", {{"i", bag_of}}, DType::i64);
  const ValueId left_out =
      b.expr("b < 0 || i == p", {{"b", bag_of}, {"i", indices}, {"p", padding}}, DType::i64, DType::boolean);
  ValueId share = b.full({}, 1, wide);
  if (kind == BagKind::mean) {
    const ValueId size = b.index_select(c.out(2), bag, 0);
    share = b.expr("1 / n", {{"n", b.expr("max(n, 1)", {{"n", size}}, DType::i64, wide)}}, wide);
  } else if (c.has_operand(3)) {
    share = b.cast(c.in(3), wide);
  }
  if (gradient_note(c.node, kFrequencyNote)) {
    share = b.expr("s / n", {{"s", share}, {"n", times_read(b, indices, b.size(table, 0))}}, wide);
  }
  const ValueId rows = b.cast(b.index_select(g, bag, 0), wide);
  if (c.needs_gradient(0)) {
    const ValueId factor = b.expr("o ? 0 : s", {{"o", left_out}, {"s", share}}, wide);
    const ValueId each = b.expr("r * f", {{"r", rows}, {"f", b.unsqueeze(factor, -1)}}, wide);
    c.add_gradient(
        0, b.add(Op::index_put, {b.full(b.shape(table), 0, wide), each, indices}, {attr(AttrKey::accumulate, Dim(1))}));
  }
  if (c.needs_gradient(3)) {
    const ValueId products = b.expr("r * t", {{"r", rows}, {"t", b.index_select(table, indices, 0)}}, wide);
    const ValueId sums = b.reduce(products, "sum", {1}, false, wide);
    c.add_gradient(3, b.expr("o ? 0 : s", {{"o", left_out}, {"s", sums}}, wide));
  }
}

}  // namespace tern
