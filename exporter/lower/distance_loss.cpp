// Losses and measures over distances and angles of vectors.
#include <array>

#include "exporter/lower/loss.h"
#include "exporter/lower/reduction.h"

namespace tern {
namespace {

// PyTorch composes these losses from several operators: each step rounds or wraps in PyTorch's intermediate type.

/// Integer differences wrap.
ValueId difference(Builder& b, ValueId x, ValueId y) {
  return b.expr("x - y", {{"x", x}, {"y", y}}, promote(b.dtype(x), b.dtype(y)));
}

ValueId pairwise(Builder& b, const Call& c, ValueId x, ValueId y, bool keepdims) {
  const ValueId d = difference(b, x, y);
  const ValueId shifted = b.expr("d + eps", {{"d", d}, {"eps", c.number("eps")}}, to_floating(b.dtype(d)));
  return vector_norm(b, shifted, c.number("p"), {-1}, keepdims, c.result_dtype());
}

Values pairwise_distance(Builder& b, const Call& c) {
  return {pairwise(b, c, c.tensor("x1"), c.tensor("x2"), c.flag_or("keepdim", false))};
}

Values triplet(Builder& b, const Call& c) {
  const DType t = c.result_dtype();
  const ValueId anchor = c.tensor("anchor"), positive = c.tensor("positive"), negative = c.tensor("negative");
  const ValueId positive_distance = pairwise(b, c, anchor, positive, false);
  ValueId negative_distance = pairwise(b, c, anchor, negative, false);
  if (c.flag_or("swap", false)) {
    negative_distance =
        b.expr("min(a, b)", {{"a", negative_distance}, {"b", pairwise(b, c, positive, negative, false)}}, t);
  }
  const ValueId losses =
      b.expr("rounded(rounded(margin + near) - far)",
             {{"near", positive_distance}, {"far", negative_distance}, {"margin", c.number("margin")}}, t);
  return {reduce_loss(b, c, b.expr("max(x, 0)", {{"x", losses}}, t))};
}

ValueId dot(Builder& b, ValueId x, ValueId y, std::int64_t axis, DType t) {
  return b.reduce(b.expr("x * y", {{"x", x}, {"y", y}}, t), "sum", {axis}, false, t);
}

Values cosine_embedding(Builder& b, const Call& c) {
  const DType t = loss_type(c);
  const ValueId x = c.tensor("input1"), y = c.tensor("input2");
  const ValueId losses = b.expr(
      "cosine = xy / sqrt((xx + 1e-12) * (yy + 1e-12)); "
      "(target == 1 ? 1 - cosine : 0) + (target == -1 ? max(cosine - margin, 0) : 0)",
      {{"xy", dot(b, x, y, -1, t)},
       {"xx", dot(b, x, x, -1, t)},
       {"yy", dot(b, y, y, -1, t)},
       {"target", c.tensor("target")},
       {"margin", c.number("margin")}},
      t);
  return {reduce_loss(b, c, losses)};
}

/// Divides each vector by max(length, eps) first.
Values cosine_similarity(Builder& b, const Call& c) {
  const DType t = c.result_dtype();
  const std::int64_t axis = c.integer("dim");
  ValueId x = c.tensor("x1"), y = c.tensor("x2");
  // Broadcast before an axis is counted from the front.
  const Dims shape = b.shape(b.expr("x + y", {{"x", x}, {"y", y}}, t));
  x = b.expand(b.cast(x, t), shape);
  y = b.expand(b.cast(y, t), shape);
  const auto unit = [&](ValueId v) {
    const ValueId length = vector_norm(b, v, 2, {b.normal_axis(v, axis)}, true, t);
    return b.expr("v / max(n, eps)", {{"v", v}, {"n", length}, {"eps", c.number("eps")}}, t);
  };
  return {b.reduce(b.expr("x * y", {{"x", unit(x)}, {"y", unit(y)}}, t), "sum", {axis}, false, t)};
}

constexpr std::array kDistanceLossLowerings = {
    Lowering{"aten.pairwise_distance.default", pairwise_distance},
    Lowering{"aten.triplet_margin_loss.default", triplet},
    Lowering{"aten.cosine_embedding_loss.default", cosine_embedding},
    Lowering{"aten.cosine_similarity.default", cosine_similarity},
};

}  // namespace

std::span<const Lowering> distance_loss_lowerings() {
  return kDistanceLossLowerings;
}

}  // namespace tern
