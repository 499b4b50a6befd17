// Gradients of what picks elements: they go back to where those came from, and add up where that was used twice.
#include "exporter/gradients/apply_rule.h"
#include "exporter/lower/gradients.h"
#include "exporter/lower/indexing.h"
#include "exporter/lower/movement.h"

namespace tern {
namespace {

using Values = std::vector<ValueId>;

/// The gradient of operand 0 of a node by its rule. Rules of these ops read the type of operand 0, not its elements.
ValueId operand_gradient(Builder& b, Op op, std::vector<ValueId> inputs, std::vector<Attr> attrs, ValueId grad) {
  Node n;
  n.op = op;
  n.inputs = std::move(inputs);
  n.attrs = std::move(attrs);
  return apply_gradient_rule(b, n, {grad}).front();
}
ValueId zeros_with_sizes(Builder& b, Dims sizes, ValueId g) {
  return b.full(std::move(sizes), 0, b.dtype(g));
}

ValueId slice_gradient(Builder& b, ValueId zeros, ValueId g, std::int64_t dim, Dim start, Dim step) {
  return operand_gradient(b, Op::slice, {zeros},
                          {attr(AttrKey::axis, dim), attr(AttrKey::start, start), attr(AttrKey::length, b.size(g, dim)),
                           attr(AttrKey::step, step)},
                          g);
}
Values select_gradient(Builder& b, const Call& c) {
  const ValueId g = c.tensor("grad_output"), zeros = zeros_with_sizes(b, c.dims("input_sizes"), g);
  const std::int64_t dim = b.normal_axis(zeros, c.integer("dim"));
  return {slice_gradient(b, zeros, b.unsqueeze(g, dim), dim, clamp_index(b, c.dim("index"), b.size(zeros, dim)), 1)};
}
Values slice_gradient(Builder& b, const Call& c) {
  const ValueId g = c.tensor("grad_output"), zeros = zeros_with_sizes(b, c.dims("input_sizes"), g);
  const std::int64_t dim = b.normal_axis(zeros, c.integer("dim"));
  return {slice_gradient(b, zeros, g, dim, clamp_index(b, c.dim("start"), b.size(zeros, dim)), c.dim("step"))};
}
/// The gradient of x, or of x as a list if x has no dimensions.
ValueId indexed_gradient(Builder& b, Op op, Dims sizes, std::int64_t dim, ValueId index, ValueId g) {
  const ValueId zeros = at_least_1d(b, zeros_with_sizes(b, sizes, g));
  const ValueId positions = at_least_1d(b, as_index(b, index)), grad = at_least_1d(b, g);
  return b.reshape(operand_gradient(b, op, {zeros, positions}, {attr(AttrKey::axis, b.normal_axis(zeros, dim))}, grad),
                   std::move(sizes));
}
Values index_select_gradient(Builder& b, const Call& c) {
  return {indexed_gradient(b, Op::index_select, c.dims("self_sizes"), c.integer("dim"), c.tensor("index"),
                           c.tensor("grad"))};
}
Values gather_gradient(Builder& b, const Call& c) {
  return {indexed_gradient(b, Op::gather, b.shape(c.tensor("self")), c.integer("dim"), c.tensor("index"),
                           c.tensor("grad"))};
}
/// Sends the gradient of max.dim and the like to the selected element.
Values selected(Builder& b, const Call& c) {
  ValueId g = c.tensor("grad"), index = c.tensor("indices");
  const Dims sizes = c.dims("sizes");
  if (!c.flag("keepdim") && !sizes.empty()) {
    g = b.unsqueeze(g, c.integer("dim"));
    index = b.unsqueeze(index, c.integer("dim"));
  }
  return {indexed_gradient(b, Op::gather, sizes, c.integer("dim"), index, g)};
}

Values trace_gradient(Builder& b, const Call& c) {
  const Dims sizes = c.dims("sizes");
  const ValueId g = c.tensor("grad");
  const ValueId rows = b.reshape(b.iota(sizes.at(0), DType::i64), {sizes.at(0), 1}),
                columns = b.iota(sizes.at(1), DType::i64);
  const ValueId on_diagonal = b.expr("r == c", {{"r", rows}, {"c", columns}}, DType::i64, DType::boolean);
  return {b.expr("m ? g : 0", {{"m", on_diagonal}, {"g", g}}, b.dtype(g))};
}
Values masked_select_gradient(Builder& b, const Call& c) {
  const ValueId mask = b.cast(c.tensor("mask"), DType::boolean);
  return {operand_gradient(b, Op::masked_select, {c.tensor("input"), mask}, {}, c.tensor("grad"))};
}

/// grad_in has the windows' number at `dim` and their size as its last axis.
Values unfold_gradient(Builder& b, const Call& c) {
  const ValueId g = c.tensor("grad_in");
  const Dims sizes = c.dims("input_sizes");
  if (sizes.empty()) return {b.reshape(g, {})};
  const ValueId zeros = zeros_with_sizes(b, sizes, g);
  const std::int64_t dim = b.normal_axis(zeros, c.integer("dim")), size = c.integer("size");
  const Dim windows = b.size(g, dim);
  const ValueId first = b.iota(windows, DType::i64, 0, static_cast<double>(c.integer("step")));
  const ValueId position =
      b.expr("f + i", {{"f", b.reshape(first, {windows, 1})}, {"i", b.iota(size, DType::i64)}}, DType::i64);
  const ValueId moved = b.move_axis(g, -1, dim + 1);
  Dims merged = sizes;
  merged[static_cast<std::size_t>(dim)] = b.pool().mul(windows, size);
  return {put_along(b, zeros, dim, b.flatten(position), b.reshape(moved, merged), true)};
}

constexpr Lowering kIndexGradientsLowerings[] = {
    {"aten.select_backward.default", select_gradient},
    {"aten.slice_backward.default", slice_gradient},
    {"aten.index_select_backward.default", index_select_gradient},
    {"aten.gather_backward.default", gather_gradient},
    {"aten.value_selecting_reduction_backward.default", selected},
    {"aten.trace_backward.default", trace_gradient},
    {"aten.masked_select_backward.default", masked_select_gradient},
    {"aten.unfold_backward.default", unfold_gradient},
};

}  // namespace

std::span<const Lowering> index_gradient_lowerings() {
  return kIndexGradientsLowerings;
}

}  // namespace tern
