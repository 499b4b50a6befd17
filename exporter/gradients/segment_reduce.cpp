// Rule of segment_reduce: each element gets a share of its segment's gradient.
#include "exporter/gradients/rules.h"
#include "exporter/gradients/shapes.h"
#include "exporter/lower/reduction.h"
#include "schema/kinds.h"

namespace tern {

void differentiate_segment_reduce(GradientCall& c) {
  Builder& b = c.b;
  const ValueId x = c.operand(0), offsets = c.operand(1), g = c.grad(0);
  const auto axis = static_cast<std::int64_t>(c.axis());
  const DType compute_dtype = compute_type(b.dtype(x));
  const Dims shape = b.shape(x);
  const Dim segments = b.size(g, axis);
  // Segment of each element, for all axes up to the reduced axis.
  const Dims lines(shape.begin(), shape.begin() + axis + 1);
  const ValueId position = b.expand(b.iota(lines.back(), b.dtype(offsets)), lines);
  const ValueId segment_end =
      b.add(Op::searchsorted, {offsets, position}, {attr(AttrKey::right, Dim(1)), attr_dtype(DType::i64)});
  const ValueId inside =
      b.expr("k >= 1 && k <= n", {{"k", segment_end}, size_arg(b, "n", segments)}, DType::i64, DType::boolean);
  const ValueId segment = b.expr("max(min(k, n) - 1, 0)", {{"k", segment_end}, size_arg(b, "n", segments)}, DType::i64);
  const ValueId index = repeat_behind(b, segment, shape), in_segments = repeat_behind(b, inside, shape);
  const auto spread = [&](ValueId v) { return b.gather(v, index, axis); };
  const auto joined = [&](ValueId v, ScatterKind kind) {
    return b.add(Op::segment_reduce, {v, offsets},
                 {attr(AttrKey::kind, Dim(static_cast<int>(kind))), attr(AttrKey::axis, axis)});
  };
  ValueId element_gradient = kNoValue;
  switch (static_cast<ScatterKind>(c.node.integer(AttrKey::kind))) {
    case ScatterKind::set:
    case ScatterKind::sum: element_gradient = spread(g); break;
    case ScatterKind::mean: {
      const ValueId count = joined(b.full(shape, 1, compute_dtype), ScatterKind::sum);
      element_gradient = b.expr("g / n", {{"g", spread(g)}, {"n", spread(count)}}, compute_dtype);
      break;
    }
    case ScatterKind::max:
    case ScatterKind::min: {
      const ValueId chosen = b.expr("x == y ? 1 : 0", {{"x", x}, {"y", spread(c.result(0))}}, compute_dtype);
      const ValueId count = joined(chosen, ScatterKind::sum);
      element_gradient =
          b.expr("m == 0 ? 0 : m * g / n", {{"m", chosen}, {"g", spread(g)}, {"n", spread(count)}}, compute_dtype);
      break;
    }
    case ScatterKind::prod: {
      // Product of the others: the non-zero factors, unless another factor is zero.
      const ValueId zero = b.expr("x == 0 ? 1 : 0", {{"x", x}}, compute_dtype);
      const ValueId factor = b.expr("x == 0 ? 1 : x", {{"x", x}}, compute_dtype);
      const ValueId zeros = joined(zero, ScatterKind::sum), factors = joined(factor, ScatterKind::prod);
      const double start = c.node.has(AttrKey::value) ? c.node.number(AttrKey::value) : 1;
      element_gradient = b.expr(
          "n == z ? g * s * f / v : 0",
          {{"n", spread(zeros)}, {"z", zero}, {"g", spread(g)}, {"s", start}, {"f", spread(factors)}, {"v", factor}},
          compute_dtype);
      break;
    }
  }
  c.add_gradient(0, b.expr("i ? e : 0", {{"i", in_segments}, {"e", element_gradient}}, compute_dtype));
}

}  // namespace tern
