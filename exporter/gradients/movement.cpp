// Gradients of element moves: each gradient moves back, and several reads of one element add up.
#include "exporter/gradients/differentiate.h"
#include "exporter/gradients/permuted.h"
#include "exporter/gradients/rule.h"
#include "schema/kinds.h"

namespace tern {
namespace {

Dims sizes_of(GradientCall& c, std::size_t i) {
  return c.b.shape(c.operand(i));
}

void reshape(GradientCall& c) {
  c.add_gradient(0, c.b.reshape(c.grad(0), sizes_of(c, 0)));
}

void permute(GradientCall& c) {
  const int rank = c.b.rank(c.operand(0));
  std::vector<std::int64_t> inverse_axes(static_cast<std::size_t>(rank));
  const Dims& axes = c.node.dims(AttrKey::axes);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    inverse_axes[static_cast<std::size_t>(c.b.normal_axis(c.operand(0), axes[i].value()))] =
        static_cast<std::int64_t>(i);
  }
  c.add_gradient(0, permuted(c, c.grad(0), inverse_axes));
}

/// Zeros of the type of `like` around the elements `g` of a slice.
ValueId around_slice(GradientCall& c, ValueId like, ValueId g, std::int64_t axis, Dim start, std::int64_t step) {
  Builder& b = c.b;
  const Dim size = b.size(like, axis), length = b.size(g, axis);
  if (step == 1) {
    Dims padding_before(b.shape(like).size(), 0), padding_after = padding_before;
    padding_before[static_cast<std::size_t>(axis)] = start;
    padding_after[static_cast<std::size_t>(axis)] = b.pool().sub(b.pool().sub(size, start), length);
    return b.pad(g, padding_before, padding_after);
  }
  return b.add(Op::slice_scatter, {zeros_like(b, like), g},
               {attr(AttrKey::axis, axis), attr(AttrKey::start, start), attr(AttrKey::length, length),
                attr(AttrKey::step, step)});
}

void slice_rule(GradientCall& c) {
  const auto axis = static_cast<std::int64_t>(c.axis());
  c.add_gradient(
      0, around_slice(c, c.operand(0), c.grad(0), axis, c.node.dim(AttrKey::start), c.node.integer(AttrKey::step)));
}

void expand(GradientCall& c) {
  c.add_gradient(0, c.grad(0));
}

/// Positions read by a strided view in the underlying storage, one per element of the view.
ValueId strided_positions(Builder& b, Dims sizes, const Dims& strides, Dim offset) {
  ValueId position = b.from_dim(offset);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    Dims along(sizes.size(), 1);
    along[i] = sizes[i];
    const ValueId steps = b.reshape(b.iota(sizes[i], DType::i64), along);
    position = b.expr("at + i * s", {{"at", position}, {"i", steps}, {"s", b.from_dim(strides[i])}}, DType::i64);
  }
  return b.reshape(b.expand(position, sizes), {b.pool().product(sizes)});
}

/// Adds `g` at the positions of a strided view to zeros of the type of `like`.
ValueId around_strided(GradientCall& c, ValueId like, ValueId g) {
  Builder& b = c.b;
  const ValueId position =
      strided_positions(b, Dims(b.shape(g)), c.node.dims(AttrKey::strides), c.node.dim(AttrKey::offset));
  const ValueId zeros = b.full({b.numel(like)}, 0, b.dtype(like));
  const ValueId sum = b.add(Op::index_put, {zeros, b.flatten(g), position}, {attr(AttrKey::accumulate, 1)});
  return b.reshape(sum, Dims(b.shape(like)));
}

void as_strided(GradientCall& c) {
  c.add_gradient(0, around_strided(c, c.operand(0), c.grad(0)));
}

/// A complex value and its two real components differ by the view alone. Bytes reinterpreted as another type have no
/// gradient, as in PyTorch.
void bitcast(GradientCall& c) {
  if (!c.flag(AttrKey::k)) return;
  c.add_gradient(0, c.b.add(Op::bitcast, {c.grad(0)}, {attr_dtype(c.b.dtype(c.operand(0))), attr(AttrKey::k, 1)}));
}

void concat(GradientCall& c) {
  const auto axis = static_cast<std::int64_t>(c.axis());
  Dim start = 0;
  for (std::size_t i = 0; i < c.input_count(); ++i) {
    const Dim length = c.b.size(c.operand(i), axis);
    if (c.needs_gradient(i)) c.add_gradient(i, c.b.slice(c.grad(0), axis, start, length));
    start = c.b.pool().add(start, length);
  }
}

/// Reverses one axis of a repeating pad: padding returns its gradient to the repeated elements.
ValueId unpadded(Builder& b, ValueId g, std::int64_t axis, Dim padding_before, Dim padding_after, std::int64_t mode) {
  if (padding_before.is(0) && padding_after.is(0)) return g;
  enum { reflect = 1, replicate = 2 };
  ExprPool& p = b.pool();
  const Dim size = p.sub(p.sub(b.size(g, axis), padding_before), padding_after);
  ValueId total = b.slice(g, axis, padding_before, size);
  /// Adds elements start, start + 1, ... of g, `length` of them, to position `at` and its successors.
  const auto add_back = [&](Dim start, Dim length, Dim index) {
    if (length.is(0)) return;
    ValueId slice = b.slice(g, axis, start, length);
    if (mode == reflect) slice = b.flip(slice, {axis});
    if (mode == replicate) {
      slice = b.reduce(slice, "sum", {axis}, true, b.dtype(g));
      length = 1;
    }
    Dims front(b.shape(g).size(), 0), padding_back = front;
    front[static_cast<std::size_t>(axis)] = index;
    padding_back[static_cast<std::size_t>(axis)] = p.sub(p.sub(size, index), length);
    total = add_gradients(b, total, b.pad(slice, front, padding_back));
  };
  const Dim end = p.add(padding_before, size), last = p.sub(size, 1);
  const bool is_reflection = mode == reflect, is_replication = mode == replicate;
  add_back(0, padding_before, is_reflection ? Dim(1) : is_replication ? Dim(0) : p.sub(size, padding_before));
  add_back(end, padding_after, is_reflection ? p.sub(last, padding_after) : is_replication ? last : Dim(0));
  return total;
}

void pad(GradientCall& c) {
  Builder& b = c.b;
  Dims padding_before = c.node.dims(AttrKey::before), padding_after = c.node.dims(AttrKey::after);
  const std::int64_t mode = c.node.integer(AttrKey::mode);
  if (mode == 0) {
    for (Dims* list : {&padding_before, &padding_after}) {
      for (Dim& d : *list) d = b.pool().neg(d);
    }
    return c.add_gradient(0, b.pad(c.grad(0), padding_before, padding_after));
  }
  ValueId g = c.grad(0);
  for (std::size_t i = 0; i < padding_before.size(); ++i) {
    g = unpadded(b, g, static_cast<std::int64_t>(i), padding_before[i], padding_after[i], mode);
  }
  c.add_gradient(0, g);
}

void slice_scatter(GradientCall& c) {
  Builder& b = c.b;
  const auto axis = static_cast<std::int64_t>(c.axis());
  const Dim start = c.node.dim(AttrKey::start), length = b.size(c.operand(1), axis);
  const std::int64_t step = c.node.integer(AttrKey::step);
  if (c.needs_gradient(0)) {
    c.add_gradient(0, b.add(Op::slice_scatter, {c.grad(0), zeros_like(b, c.operand(1))},
                            {attr(AttrKey::axis, axis), attr(AttrKey::start, start), attr(AttrKey::length, length),
                             attr(AttrKey::step, step)}));
  }
  if (c.needs_gradient(1)) c.add_gradient(1, b.slice(c.grad(0), axis, start, length, step));
}

void as_strided_scatter(GradientCall& c) {
  Builder& b = c.b;
  const Dims& strides = c.node.dims(AttrKey::strides);
  const Dim offset = c.node.dim(AttrKey::offset);
  if (c.needs_gradient(0)) {
    c.add_gradient(0, b.add(Op::as_strided_scatter, {c.grad(0), zeros_like(b, c.operand(1))},
                            {attr(AttrKey::strides, strides), attr(AttrKey::offset, offset)}));
  }
  if (c.needs_gradient(1)) c.add_gradient(1, b.as_strided(c.grad(0), sizes_of(c, 1), strides, offset));
}

constexpr GradientEntry kMovementRules[] = {
    {Op::reshape, reshape},
    {Op::permute, permute},
    {Op::slice, slice_rule},
    {Op::expand, expand},
    {Op::as_strided, as_strided},
    {Op::bitcast, bitcast},
    {Op::concat, concat},
    {Op::pad, pad},
    {Op::slice_scatter, slice_scatter},
    {Op::as_strided_scatter, as_strided_scatter},
};

}  // namespace

std::span<const GradientEntry> gradients_of_movement() {
  return kMovementRules;
}

}  // namespace tern
