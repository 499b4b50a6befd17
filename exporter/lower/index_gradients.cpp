// Gradients of element selections: each gradient returns to the element's origin; repeated origins add up.
#include "exporter/lower/gradients.h"
#include "exporter/lower/indexing.h"
#include "exporter/lower/movement.h"

namespace tern {
namespace {

using Values = std::vector<ValueId>;

ValueId nothing_of(Builder& b, Dims sizes, DType t) {
  return b.full(std::move(sizes), 0, t);
}

Values select(Builder& b, const Call& c) {
  const ValueId g = c.tensor("grad_output");
  const ValueId zeros = nothing_of(b, c.dims("input_sizes"), b.dtype(g));
  const std::int64_t dim = b.normal_axis(zeros, c.integer("dim"));
  const Dim at = clamp_index(b, c.dim("index"), b.size(zeros, dim));
  return {b.add(Op::slice_scatter, {zeros, b.unsqueeze(g, dim)},
                {attr(AttrKey::axis, dim), attr(AttrKey::start, at), attr(AttrKey::step, Dim(1))})};
}
Values slice(Builder& b, const Call& c) {
  const ValueId g = c.tensor("grad_output");
  const ValueId zeros = nothing_of(b, c.dims("input_sizes"), b.dtype(g));
  const std::int64_t dim = b.normal_axis(zeros, c.integer("dim"));
  const Dim start = clamp_index(b, c.dim("start"), b.size(zeros, dim));
  return {b.add(Op::slice_scatter, {zeros, g},
                {attr(AttrKey::axis, dim), attr(AttrKey::start, start), attr(AttrKey::step, c.dim("step"))})};
}
Values index_select(Builder& b, const Call& c) {
  const ValueId g = c.tensor("grad");
  return {put_along(b, nothing_of(b, c.dims("self_sizes"), b.dtype(g)), c.integer("dim"), c.tensor("index"), g, true)};
}

ValueId scatter_add(Builder& b, Dims sizes, std::int64_t dim, ValueId index, ValueId g) {
  const Dims shape = sizes;
  const ValueId zeros = with_axis(b, nothing_of(b, std::move(sizes), b.dtype(g)));
  return b.reshape(b.add(Op::scatter, {zeros, with_axis(b, as_index(b, index)), with_axis(b, g)},
                         {attr(AttrKey::axis, b.normal_axis(zeros, dim)),
                          attr(AttrKey::kind, Dim(static_cast<std::int64_t>(ScatterKind::sum)))}),
                   shape);
}
Values gather(Builder& b, const Call& c) {
  return {scatter_add(b, b.shape(c.tensor("self")), c.integer("dim"), c.tensor("index"), c.tensor("grad"))};
}
/// Sends the gradient of max.dim and the like to the selected element.
Values selected(Builder& b, const Call& c) {
  ValueId g = c.tensor("grad"), index = c.tensor("indices");
  const Dims sizes = c.dims("sizes");
  if (!c.flag("keepdim") && !sizes.empty()) {
    g = b.unsqueeze(g, c.integer("dim"));
    index = b.unsqueeze(index, c.integer("dim"));
  }
  return {scatter_add(b, sizes, c.integer("dim"), index, g)};
}

Values trace(Builder& b, const Call& c) {
  const Dims sizes = c.dims("sizes");
  const ValueId g = c.tensor("grad");
  const ValueId rows = b.reshape(b.iota(sizes.at(0), DType::i64), {sizes.at(0), 1}),
                columns = b.iota(sizes.at(1), DType::i64);
  const ValueId on = b.expr("r == c", {{"r", rows}, {"c", columns}}, DType::i64, DType::boolean);
  return {b.expr("m ? g : 0", {{"m", on}, {"g", g}}, b.dtype(g))};
}
Values masked_select(Builder& b, const Call& c) {
  // Computes masked_scatter with the gradient as the source.
  const ValueId mask = c.tensor("mask"), g = c.tensor("grad");
  const Dims shape = b.shape(c.tensor("input"));
  const ValueId flat = b.flatten(b.expand(b.cast(mask, DType::boolean), shape));
  const ValueId count = scan_along(b, flat, ScanKind::cumsum, 0, DType::i64);
  // Appends a spare element, read if the mask selects nothing.
  const ValueId padded = b.pad(g, {0}, {1});
  const ValueId place = b.expr("m ? n - 1 : 0", {{"m", flat}, {"n", count}}, DType::i64);
  const ValueId taken = b.index_select(padded, place, 0);
  return {b.reshape(b.expr("m ? t : 0", {{"m", flat}, {"t", taken}}, b.dtype(g)), shape)};
}

/// grad_in has the window count at `dim` and the window size as its last axis.
Values unfold(Builder& b, const Call& c) {
  const ValueId g = c.tensor("grad_in");
  const Dims sizes = c.dims("input_sizes");
  if (sizes.empty()) return {b.reshape(g, {})};
  const ValueId zeros = nothing_of(b, sizes, b.dtype(g));
  const std::int64_t dim = b.normal_axis(zeros, c.integer("dim")), size = c.integer("size");
  const Dim windows = b.size(g, dim);
  const ValueId first = b.iota(windows, DType::i64, 0, static_cast<double>(c.integer("step")));
  const ValueId place =
      b.expr("f + i", {{"f", b.reshape(first, {windows, 1})}, {"i", b.iota(size, DType::i64)}}, DType::i64);
  const ValueId moved = b.move_axis(g, -1, dim + 1);
  Dims merged = sizes;
  merged[static_cast<std::size_t>(dim)] = b.pool().mul(windows, size);
  return {put_along(b, zeros, dim, b.flatten(place), b.reshape(moved, merged), true)};
}

constexpr Lowering kTable[] = {
    {"aten.select_backward.default", select},
    {"aten.slice_backward.default", slice},
    {"aten.index_select_backward.default", index_select},
    {"aten.gather_backward.default", gather},
    {"aten.value_selecting_reduction_backward.default", selected},
    {"aten.trace_backward.default", trace},
    {"aten.masked_select_backward.default", masked_select},
    {"aten.unfold_backward.default", unfold},
};

}  // namespace

std::span<const Lowering> index_gradient_lowerings() {
  return kTable;
}

}  // namespace tern
