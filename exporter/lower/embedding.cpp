// Rows of tables: embedding, embedding_bag, and repeat_interleave.
#include "exporter/gradients/apply_rule.h"
#include "exporter/gradients/notes.h"
#include "exporter/lower/indexing.h"
#include "schema/kinds.h"

namespace tern {
namespace {

using Values = std::vector<ValueId>;

Values embedding(Builder& b, const Call& c) {
  const ValueId weight = c.tensor("weight");
  const ValueId y = b.index_select(weight, as_index(b, c.tensor("indices")), 0);
  // -1 means no padding row; the public function has resolved other negative rows before the call.
  if (c.integer_or("padding_idx", -1) >= 0) {
    set_gradient_note(b.function().nodes.back(), kPaddingNote, c.integer("padding_idx"));
  }
  if (c.flag_or("scale_grad_by_freq", false)) set_gradient_note(b.function().nodes.back(), kFrequencyNote, 1);
  return {y};
}

/// Scales rows named by `indices` down to norm max_norm if above.
Values embedding_renorm(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  const DType compute_dtype = compute_type(b.dtype(x));
  const ValueId norm = vector_norm(b, x, c.number("norm_type"), {1}, true, compute_dtype);
  const ValueId index = b.flatten(as_index(b, c.tensor("indices")));
  const Dim rows = b.size(x, 0);
  const ValueId is_read = b.add(Op::scatter, {b.full({rows}, 0, DType::boolean), index, b.full({}, 1, DType::boolean)},
                                {attr(AttrKey::axis, Dim(0)), attr(AttrKey::kind, Dim(0))});
  return {b.expr("h && n > m ? x * (m / (n + 1e-7)) : x",
                 {{"h", b.reshape(is_read, {rows, 1})}, {"n", norm}, {"m", c.number("max_norm")}, {"x", x}},
                 b.dtype(x))};
}

Values embedding_bag(Builder& b, const Call& c) {
  const ValueId weight = c.tensor("weight");
  const bool has_padding = c.has_argument("padding_idx");
  std::int64_t padding = has_padding ? c.integer("padding_idx") : -1;
  // -1 means the last row in the public overload, no row in the internal overloads.
  if (padding < (has_padding && c.target == "aten.embedding_bag.padding_idx" ? 0 : -1)) {
    const Dim rows = b.size(weight, 0);
    if (!rows.is_const()) c.unsupported("a negative padding index needs a table of constant size");
    padding += rows.value();
  }
  const Values inputs = {weight, as_index(b, c.tensor("indices")), as_index(b, c.tensor("offsets")),
                         c.tensor_or_none("per_sample_weights")};
  const Values r =
      b.add_all(Op::embedding_bag, inputs,
                {attr(AttrKey::kind, Dim(c.integer("mode"))), attr(AttrKey::full, Dim(c.flag("include_last_offset"))),
                 attr(AttrKey::padding_index, padding)});
  if (c.flag_or("scale_grad_by_freq", false)) set_gradient_note(b.function().nodes.back(), kFrequencyNote, 1);
  return r;
}

/// Adds the gradients of all uses of a row into the table's row.
Values embedding_backward(Builder& b, const Call& c) {
  const ValueId grad = c.tensor("grad_output");
  Node n;
  n.op = Op::index_select;
  n.inputs = {b.full({c.dim("num_weights"), b.size(grad, -1)}, 0, b.dtype(grad)), as_index(b, c.tensor("indices"))};
  n.attrs = {attr(AttrKey::axis, Dim(0))};
  const std::int64_t padding = c.integer("padding_idx");
  if (padding >= 0) set_gradient_note(n, kPaddingNote, padding);
  if (c.flag("scale_grad_by_freq")) set_gradient_note(n, kFrequencyNote, 1);
  return {apply_gradient_rule(b, n, {grad}).front()};
}

/// The forward node behind a backward operator of embedding_bag, which has the forward results as arguments.
Node forward_bag(Builder& b, const Call& c, ValueId weight, BagKind kind) {
  const auto result = [&](ArgumentName name) { return c.has_argument(name) ? as_index(b, c.tensor(name)) : kNoValue; };
  Node n;
  n.op = Op::embedding_bag;
  n.inputs = {weight, as_index(b, c.tensor("indices")), kNoValue, c.tensor_or_none("per_sample_weights")};
  n.outputs = {kNoValue, result("offset2bag"), result("bag_size"), result("maximum_indices")};
  n.attrs = {attr(AttrKey::kind, Dim(static_cast<std::int64_t>(kind))),
             attr(AttrKey::padding_index, c.integer_or("padding_idx", -1))};
  if (c.flag_or("scale_grad_by_freq", false)) set_gradient_note(n, kFrequencyNote, 1);
  return n;
}

Values embedding_bag_backward(Builder& b, const Call& c) {
  if (c.flag_or("sparse", false)) c.unsupported("a sparse gradient has no dense tensor; use sparse=False");
  const ValueId grad = c.tensor("grad");
  const ValueId weight = b.full({c.dim("num_weights"), b.size(grad, -1)}, 0, b.dtype(grad));
  const Node forward = forward_bag(b, c, weight, static_cast<BagKind>(c.integer("mode")));
  return {apply_gradient_rule(b, forward, {grad}, {true, false, false, false}).front()};
}

/// Only sums have weights of samples. The gradient does not depend on the weights' values.
Values sample_weights_backward(Builder& b, const Call& c) {
  const ValueId grad = c.tensor("grad");
  Node forward = forward_bag(b, c, c.tensor("weight"), BagKind::sum);
  forward.inputs[3] = b.full(b.shape(c.tensor("indices")), 0, b.dtype(grad));
  return {apply_gradient_rule(b, forward, {grad}, {false, false, false, true}).back()};
}

/// Equal repetition of all slices: broadcasts.
Values repeat_all(Builder& b, const Call& c) {
  ValueId x = c.tensor("self");
  if (!c.has_argument("dim")) x = b.flatten(x);
  x = at_least_1d(b, x);
  const std::int64_t axis = c.has_argument("dim") ? b.normal_axis(x, c.integer("dim")) : 0;
  const Dim times = c.dim("repeats");
  Dims shape = b.shape(x), repeated_shape = shape;
  repeated_shape.insert(repeated_shape.begin() + axis + 1, times);
  Dim& size = shape[static_cast<std::size_t>(axis)];
  size = b.pool().mul(size, times);
  return {b.reshape(b.expand(b.unsqueeze(x, axis + 1), repeated_shape), shape)};
}

ValueId repeat_each(Builder& b, const Call& c, ValueId x, ValueId repeats, std::int64_t axis) {
  return b.add(
      Op::repeat_interleave, {x, at_least_1d(b, as_index(b, repeats))},
      {attr(AttrKey::axis, axis), attr(AttrKey::symbols, Dims{data_size(b, c, 0, static_cast<std::size_t>(axis))})});
}
Values repeat_interleave(Builder& b, const Call& c) {
  ValueId x = c.tensor("self");
  if (!c.has_argument("dim")) x = b.flatten(x);
  x = at_least_1d(b, x);
  return {repeat_each(b, c, x, c.tensor("repeats"), c.has_argument("dim") ? b.normal_axis(x, c.integer("dim")) : 0)};
}
Values repeat_positions(Builder& b, const Call& c) {
  const ValueId repeats = c.tensor("repeats");
  const ValueId positions = b.iota(b.size(repeats, 0), DType::i64);
  return {b.cast(repeat_each(b, c, positions, repeats, 0), c.result_dtype())};
}

constexpr Lowering kEmbeddingLowerings[] = {
    {"aten.embedding.default", embedding},
    {"aten.embedding_renorm.default", embedding_renorm},
    {"aten.embedding_bag.default", embedding_bag},
    {"aten.embedding_bag.padding_idx", embedding_bag},
    {"aten._embedding_bag.default", embedding_bag},
    {"aten._embedding_bag_forward_only.default", embedding_bag},
    {"aten._embedding_bag_backward.default", embedding_bag_backward},
    {"aten._embedding_bag_dense_backward.default", embedding_bag_backward},
    {"aten._embedding_bag_per_sample_weights_backward.default", sample_weights_backward},
    {"aten.embedding_dense_backward.default", embedding_backward},
    {"aten.repeat_interleave.self_int", repeat_all},
    {"aten.repeat_interleave.self_Tensor", repeat_interleave},
    {"aten.repeat_interleave.Tensor", repeat_positions},
};

}  // namespace

std::span<const Lowering> embedding_lowerings() {
  return kEmbeddingLowerings;
}

}  // namespace tern
