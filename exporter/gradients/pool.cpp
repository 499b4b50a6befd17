// The rules of pooling and of fold: elements go back to the window that they came from.
#include <algorithm>

#include "exporter/gradients/rules.h"
#include "exporter/gradients/shapes.h"
#include "exporter/gradients/sliding.h"
#include "exporter/lower/reduction.h"
#include "schema/window_kinds.h"

namespace tern {
namespace {

using Sizes = std::vector<std::int64_t>;

/// To the elements that `indices` names within the last n axes of the operand.
ValueId to_places(Builder& b, ValueId x, ValueId indices, ValueId g, std::size_t n) {
  const auto lead = static_cast<std::int64_t>(b.shape(x).size() - n);
  const Dims shape = b.shape(x);
  Dims flat(shape.begin(), shape.begin() + lead);
  flat.push_back(b.pool().product(std::span<const Dim>(shape).subspan(static_cast<std::size_t>(lead))));
  return b.reshape(scatter_sum(b, flat, lead, flatten_from(b, indices, lead), flatten_from(b, g, lead)), shape);
}

/// `v`, one number for each place along axis `axis`, as a value that broadcasts over the other of `rank` axes.
ValueId along(Builder& b, ValueId v, std::size_t axis, std::size_t rank) {
  Dims sizes(rank, 1);
  sizes[axis] = b.size(v, 0);
  return b.reshape(v, sizes);
}

/// How many elements each window of one axis divides by.
ValueId window_lengths(Builder& b, Dim windows, Dim input, std::int64_t kernel, std::int64_t stride,
                       std::int64_t padding, bool count_pads, DType t) {
  return b.expr(
      count_pads ? "s = i * d - p; min(s + k, n + p) - s" : "s = i * d - p; min(min(s + k, n + p), n) - max(s, 0)",
      {{"i", b.iota(windows, DType::i64)},
       {"d", static_cast<double>(stride)},
       {"p", static_cast<double>(padding)},
       {"k", static_cast<double>(kernel)},
       size_arg(b, "n", input)},
      DType::i64, t);
}

/// The same for all elements of a window: what the windows of an image of ones pass on.
ValueId of_averages(GradientCall& c, const Windows& w, const Dims& kernel) {
  Builder& b = c.b;
  const ValueId x = c.in(0);
  const std::size_t n = kernel.size(), rank = b.shape(x).size(), lead = rank - n;
  const DType wide = compute_type(b.dtype(x));
  ValueId each = b.cast(c.grad(0), wide);
  if (c.node.has(AttrKey::divisor)) {
    each = b.expr("g / d", {{"g", each}, {"d", static_cast<double>(c.node.integer(AttrKey::divisor))}}, wide);
  } else {
    for (std::size_t i = 0; i < n; ++i) {
      const auto axis = static_cast<std::int64_t>(lead + i);
      const ValueId lengths = window_lengths(b, b.size(each, axis), b.size(x, axis), kernel[i].value(), w.strides[i],
                                             w.before[i], c.flag(AttrKey::count_pads), wide);
      each = b.expr("g / d", {{"g", each}, {"d", along(b, lengths, lead + i, rank)}}, wide);
    }
  }
  const Dims shape = b.shape(x), windows = b.shape(each);
  const auto at = static_cast<std::ptrdiff_t>(lead);
  Dims one = {b.pool().product(std::span<const Dim>(shape).first(lead)), 1}, ones = {1, 1};
  one.insert(one.end(), windows.begin() + at, windows.end());
  ones.insert(ones.end(), kernel.begin(), kernel.end());
  const ValueId y =
      image_gradient(b, b.reshape(each, one), b.full(ones, 1, wide), w, Dims(shape.begin() + at, shape.end()));
  return b.reshape(y, shape);
}

/// [out, in]: the share of each input element in each window of an adaptive average.
ValueId adaptive_shares(Builder& b, Dim out, Dim in, DType t) {
  const std::vector<ExprArg> args = {{"o", b.reshape(b.iota(out, DType::i64), {out, 1})},
                                     {"i", b.iota(in, DType::i64)},
                                     size_arg(b, "n", in),
                                     size_arg(b, "m", out)};
  const ValueId inside =
      b.expr("i >= floordiv(o * n, m) && i < floordiv((o + 1) * n + m - 1, m)", args, DType::i64, DType::boolean);
  const ValueId length =
      b.expr("floordiv((o + 1) * n + m - 1, m) - floordiv(o * n, m) + i * 0", args, DType::i64, DType::i64);
  return b.expr("s ? 1 / l : 0", {{"s", inside}, {"l", length}}, t);
}

}  // namespace

void differentiate_pool(GradientCall& c) {
  Builder& b = c.b;
  if (c.grad(0) == kNoValue) return;
  const Dims kernel = c.node.dims(AttrKey::kernel);
  const std::size_t n = kernel.size();
  if (static_cast<PoolKind>(c.node.integer(AttrKey::kind)) == PoolKind::max) {
    return c.give(0, to_places(b, c.in(0), c.out(1), c.grad(0), n));
  }
  Windows w;
  for (std::size_t i = 0; i < n; ++i) {
    w.strides.push_back(c.node.has(AttrKey::strides) ? c.node.integer_at(AttrKey::strides, i) : kernel[i].value());
    w.dilations.push_back(1);
    w.before.push_back(c.node.integer_at(AttrKey::before, i));
  }
  w.after = w.before;
  c.give(0, of_averages(c, w, kernel));
}

void differentiate_adaptive_pool(GradientCall& c) {
  Builder& b = c.b;
  if (c.grad(0) == kNoValue) return;
  const ValueId x = c.in(0);
  const std::size_t n = c.node.dims(AttrKey::sizes).size();
  if (static_cast<PoolKind>(c.node.integer(AttrKey::kind)) == PoolKind::max) {
    return c.give(0, to_places(b, x, c.out(1), c.grad(0), n));
  }
  const DType wide = compute_type(b.dtype(x));
  ValueId g = b.cast(c.grad(0), wide);
  for (std::size_t i = 0; i < n; ++i) {
    const std::int64_t axis = b.rank(x) - 1 - static_cast<std::int64_t>(i);
    const ValueId shares = adaptive_shares(b, b.size(g, axis), b.size(x, axis), wide);
    // Of vectors there is one axis alone, and a product needs two.
    const bool vector = b.rank(g) == 1;
    ValueId y = vector ? b.unsqueeze(g, 0) : b.move_axis(g, axis, -1);
    y = b.matmul(y, shares);
    g = vector ? b.squeeze(y, 0) : b.move_axis(y, -1, axis);
  }
  c.give(0, g);
}

void differentiate_fractional_pool(GradientCall& c) {
  if (c.grad(0) == kNoValue) return;
  c.give(0, to_places(c.b, c.in(0), c.out(1), c.grad(0), c.node.dims(AttrKey::kernel).size()));
}

/// Each column gets the window that it was added to.
void differentiate_fold(GradientCall& c) {
  Builder& b = c.b;
  ExprPool& p = b.pool();
  const Dims kernel = c.node.dims(AttrKey::kernel);
  const std::size_t n = kernel.size();
  Dims pads = {0, 0};
  for (std::size_t i = 0; i < n; ++i) pads.push_back(c.node.integer_at(AttrKey::before, i));
  const ValueId g = b.pad(c.grad(0), pads, pads);
  const Dims shape = b.shape(g), steps = row_major(b, shape);
  Dims sizes = {shape[0], shape[1]}, strides = {steps[0], steps[1]}, counts, jumps;
  for (std::size_t i = 0; i < n; ++i) {
    const std::int64_t stride = c.node.integer_at(AttrKey::strides, i),
                       dilation = c.node.integer_at(AttrKey::dilations, i);
    const Dim reach = p.add(p.mul(dilation, p.sub(kernel[i], 1)), 1);
    counts.push_back(p.add(p.floordiv(p.sub(shape[i + 2], reach), stride), 1));
    jumps.push_back(p.mul(stride, steps[i + 2]));
    sizes.push_back(kernel[i]);
    strides.push_back(p.mul(dilation, steps[i + 2]));
  }
  sizes.insert(sizes.end(), counts.begin(), counts.end());
  strides.insert(strides.end(), jumps.begin(), jumps.end());
  c.give(0, b.reshape(b.as_strided(g, sizes, strides, 0), b.shape(c.in(0))));
}

}  // namespace tern
