// Gradients of element selections: each gradient returns to the element's origin; repeated origins add up.
#include <numeric>

#include "exporter/gradients/notes.h"
#include "exporter/gradients/rules.h"
#include "exporter/gradients/shapes.h"
#include "exporter/lower/reduction.h"

namespace tern {
namespace {

/// Zeros of x's shape, with `values` added at the positions of `indices`; 16-bit sums are float32.
ValueId put_sum(Builder& b, ValueId x, ValueId values, std::vector<ValueId> indices) {
  const DType t = b.dtype(x), compute_dtype = is_complex(t) ? t : compute_type(t);
  indices.insert(indices.begin(), {b.full(b.shape(x), 0, compute_dtype), b.cast(values, compute_dtype)});
  return b.add(Op::index_put, std::move(indices), {attr(AttrKey::accumulate, Dim(1))});
}

void gather(GradientCall& c) {
  const auto axis = static_cast<std::int64_t>(c.axis());
  c.add_gradient(0, scatter_sum(c.b, c.b.shape(c.operand(0)), axis, c.operand(1), c.grad(0)));
}

/// Applies PyTorch's embedding options: row padding_idx gets no gradient; scale_grad_by_freq divides rows by their read
/// count.
ValueId table_gradient(GradientCall& c, ValueId g) {
  Builder& b = c.b;
  const ValueId index = c.operand(1);
  const DType compute_dtype = compute_type(b.dtype(g));
  if (const auto row = gradient_note(c.node, kPaddingNote)) {
    const ValueId padding =
        b.expr("i == p", {{"i", index}, {"p", static_cast<double>(*row)}}, DType::i64, DType::boolean);
    g = b.expr("p ? 0 : g", {{"p", b.unsqueeze(padding, -1)}, {"g", g}}, compute_dtype);
  }
  if (gradient_note(c.node, kFrequencyNote)) {
    g = b.expr("g / n", {{"g", g}, {"n", b.unsqueeze(times_read(b, index, b.size(c.operand(0), 0)), -1)}},
               compute_dtype);
  }
  return g;
}

void index_select_rule(GradientCall& c) {
  Builder& b = c.b;
  const ValueId x = c.operand(0), index = c.operand(1);
  const auto axis = static_cast<std::int64_t>(c.axis());
  if (axis == 0) return c.add_gradient(0, put_sum(b, x, table_gradient(c, c.grad(0)), {index}));
  // Moves the axes of the index, and the indexed axis of x, to the front.
  const std::int64_t k = b.rank(index);
  std::vector<std::int64_t> order(static_cast<std::size_t>(k));
  std::iota(order.begin(), order.end(), axis);
  for (std::int64_t i = 0; i < b.rank(c.grad(0)); ++i) {
    if (i < axis || i >= axis + k) order.push_back(i);
  }
  Dims sizes = b.shape(x);
  const Dim n = sizes[static_cast<std::size_t>(axis)];
  sizes.erase(sizes.begin() + axis);
  sizes.insert(sizes.begin(), n);
  const ValueId moved = put_sum(b, b.full(sizes, 0, b.dtype(x)), b.permute(c.grad(0), order), {index});
  c.add_gradient(0, b.move_axis(moved, 0, axis));
}

void index(GradientCall& c) {
  c.add_gradient(0, put_sum(c.b, c.operand(0), c.grad(0), {c.node.inputs.begin() + 1, c.node.inputs.end()}));
}

/// The result's gradient with zeros at positions `indices`.
ValueId written(GradientCall& c, const std::vector<ValueId>& indices) {
  Builder& b = c.b;
  std::vector<ValueId> inputs = {c.grad(0), b.full({}, 0, b.dtype(c.operand(0)))};
  inputs.insert(inputs.end(), indices.begin(), indices.end());
  return b.add(Op::index_put, std::move(inputs), {attr(AttrKey::accumulate, Dim(0))});
}

/// Replaced elements get no gradient. Repeated positions give each of their values the gradient of the position.
void index_put(GradientCall& c) {
  Builder& b = c.b;
  const std::vector<ValueId> indices(c.node.inputs.begin() + 2, c.node.inputs.end());
  if (c.needs_gradient(0) && c.flag(AttrKey::accumulate)) c.add_gradient(0, c.grad(0));
  if (c.needs_gradient(0) && !c.flag(AttrKey::accumulate)) c.add_gradient(0, written(c, indices));
  if (c.needs_gradient(1) && c.operator_name().starts_with("aten.index_fill")) {
    // A single value for all positions: each position counts once, however often listed.
    const ValueId saved = c.operand_gradient(0) != kNoValue ? c.operand_gradient(0) : written(c, indices);
    const ValueId filled = b.expr("g - k", {{"g", c.grad(0)}, {"k", saved}}, b.dtype(c.operand(1)));
    c.add_gradient(1, b.reduce(filled, "sum", b.all_axes(filled), false, b.dtype(filled)));
  } else if (c.needs_gradient(1)) {
    std::vector<ValueId> inputs = {c.grad(0)};
    inputs.insert(inputs.end(), indices.begin(), indices.end());
    c.add_gradient(1, b.add(Op::index, std::move(inputs)));
  }
}

/// Element i of what the mask is true for is number i among those.
void masked_select_rule(GradientCall& c) {
  Builder& b = c.b;
  const ValueId mask = c.operand(1), x = c.operand(0);
  const ValueId mask_or_nan = b.expr("m || x != x", {{"m", mask}, {"x", x}}, b.dtype(x), DType::boolean);  // broadcast
  const Dims shape = b.shape(mask_or_nan);
  const ValueId flat = b.flatten(b.expand(mask, shape));
  const ValueId count = scan_along(b, flat, ScanKind::cumsum, 0, DType::i64);
  // Appends a spare element, read if the mask selects nothing.
  const ValueId padded = b.pad(c.grad(0), {0}, {1});
  const ValueId position = b.expr("m ? n - 1 : 0", {{"m", flat}, {"n", count}}, DType::i64);
  const ValueId gathered = b.index_select(padded, position, 0);
  c.add_gradient(0, b.reshape(b.expr("m ? t : 0", {{"m", flat}, {"t", gathered}}, b.dtype(x)), shape));
}

/// Sums the gradient over the repetitions of each element.
void repeat_interleave(GradientCall& c) {
  Builder& b = c.b;
  const ValueId x = c.operand(0);
  const auto axis = static_cast<std::int64_t>(c.axis());
  const Dim n = b.size(x, axis);
  // Element j came from the first slice ending behind j.
  const ValueId repeats = b.expand(b.cast(c.operand(1), DType::i64), {n});
  const ValueId repeat_ends = scan_along(b, repeats, ScanKind::cumsum, 0, DType::i64);
  const ValueId positions = b.add(Op::searchsorted, {repeat_ends, b.iota(b.size(c.grad(0), axis), DType::i64)},
                                  {attr(AttrKey::right, Dim(1)), attr_dtype(DType::i64)});
  Dims sizes = b.shape(x);
  sizes.erase(sizes.begin() + axis);
  sizes.insert(sizes.begin(), n);
  const ValueId sum = put_sum(b, b.full(sizes, 0, b.dtype(x)), b.move_axis(c.grad(0), axis, 0), {positions});
  c.add_gradient(0, b.move_axis(sum, 0, axis));
}

constexpr GradientEntry kIndexingRules[] = {
    {Op::gather, gather},
    {Op::index_select, index_select_rule},
    {Op::index, index},
    {Op::index_put, index_put},
    {Op::scatter, differentiate_scatter},
    {Op::masked_select, masked_select_rule},
    {Op::embedding_bag, differentiate_embedding_bag},
    {Op::repeat_interleave, repeat_interleave},
};

}  // namespace

std::span<const GradientEntry> gradients_of_indexing() {
  return kIndexingRules;
}

}  // namespace tern
