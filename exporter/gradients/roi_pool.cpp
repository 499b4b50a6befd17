// Rule of boxes pooled by their maxima. The op does not output the positions: a loop over the boxes finds them again,
// columns first and then rows, giving the first maximum in row-major order.
#include <limits>

#include "exporter/gradients/body.h"
#include "exporter/gradients/rules.h"
#include "exporter/gradients/shapes.h"
#include "exporter/lower/reduction.h"

namespace tern {
namespace {

/// Boolean [bins, size]: true for positions of an axis of `size` inside a bin. low, high: the box's edges.
ValueId inside(Builder& b, ValueId low, ValueId high, double scale, Dim bins, Dim size) {
  const DType t = b.dtype(low);
  return b.expr(
      "f = floor(abs(l * z) + 0.5) * sign(l * z); w = max(floor(abs(h * z) + 0.5) * sign(h * z) - f + 1, 1) / m;"
      "p >= floor(k * w) + f && p < ceil((k + 1) * w) + f",
      {{"l", low},
       {"h", high},
       {"z", scale},
       {"k", b.reshape(b.iota(bins, t), {bins, 1})},
       {"p", b.iota(size, t)},
       size_arg(b, "m", bins)},
      t, DType::boolean);
}

std::vector<ValueId> largest(Builder& b, ValueId x, ValueId mask, std::int64_t axis) {
  const ValueId masked = b.expr("m ? x : -inf", {{"m", mask}, {"x", x}}, b.dtype(x));
  return b.add_all(Op::select_reduce, {masked},
                   {attr(AttrKey::kind, Dim(static_cast<int>(SelectKind::max))), attr(AttrKey::axis, axis)});
}

/// Function of a box [5] and the images: position of each bin's largest element in the flat images, or -1.
std::uint32_t places_of_box(GradientCall& c) {
  const TensorType images = c.b.type(c.operand(0));
  TensorType row = c.b.type(c.operand(1));
  row.shape.erase(row.shape.begin());
  const std::uint32_t number = new_function(c.b.program(), "roi_pool.gradient");
  Builder b(c.b.program(), number);
  const ValueId box = new_input(b, row, "box"), x = new_input(b, images, "images");
  const Dim channels = images.shape[1], height = images.shape[2], width = images.shape[3];
  const Dim bins_y = c.node.dims(AttrKey::sizes)[0], bins_x = c.node.dims(AttrKey::sizes)[1];
  const DType compute_dtype = compute_type(images.dtype);
  const double scale = c.node.number(AttrKey::scale);
  const auto edge = [&](int k) { return b.cast(b.slice(box, 0, k, 1), compute_dtype); };
  const ValueId image = b.cast(b.slice(box, 0, 0, 1), DType::i64);
  const ValueId plane = b.cast(b.squeeze(b.index_select(x, image, 0), 0), compute_dtype);

  const ValueId columns = inside(b, edge(1), edge(3), scale, bins_x, width);
  const ValueId rows = b.reshape(inside(b, edge(2), edge(4), scale, bins_y, height), {bins_y, height, 1});
  const std::vector<ValueId> in_rows = largest(b, b.unsqueeze(plane, 2), columns, 3);    // [channels, height, bins_x]
  const std::vector<ValueId> in_bins = largest(b, b.unsqueeze(in_rows[0], 1), rows, 2);  // [channels, bins_y, bins_x]
  const ValueId column = b.gather(in_rows[1], in_bins[1], 1);
  const ValueId channel = b.reshape(b.iota(channels, DType::i64), {channels, 1, 1});
  const ValueId flat = b.expr("((n * c + k) * h + y) * w + x",
                              {{"n", image},
                               {"k", channel},
                               {"y", in_bins[1]},
                               {"x", column},
                               size_arg(b, "c", channels),
                               size_arg(b, "h", height),
                               size_arg(b, "w", width)},
                              DType::i64);
  const ValueId none = b.expr("v == -inf", {{"v", in_bins[0]}}, compute_dtype, DType::boolean);
  new_output(b, b.expr("n ? -1 : f", {{"n", none}, {"f", flat}}, DType::i64));
  return number;
}

}  // namespace

void differentiate_roi_pool(GradientCall& c) {
  Builder& b = c.b;
  Node loop;
  loop.op = Op::map_loop;
  loop.inputs = {c.operand(1), c.operand(0)};
  loop.attrs = {attr(AttrKey::mapped, Dim(1))};
  loop.functions = {places_of_box(c)};
  const ValueId position = b.flatten(b.add(std::move(loop)).front());
  const ValueId routed_gradient =
      b.expr("p < 0 ? 0 : g", {{"p", position}, {"g", b.flatten(c.grad(0))}}, b.dtype(c.grad(0)));
  const Dims shape = b.shape(c.operand(0));
  const ValueId index = b.expr("max(p, 0)", {{"p", position}}, DType::i64);
  c.add_gradient(0, b.reshape(scatter_sum(b, {b.pool().product(shape)}, 0, index, routed_gradient), shape));
}

}  // namespace tern
