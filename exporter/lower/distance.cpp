// Lowerings of distances and similarities between rows.
#include <fmt/format.h>

#include <cmath>

#include "exporter/lower/contraction.h"

namespace tern {
namespace {

using Values = std::vector<ValueId>;

Values cdist(Builder& b, const Call& c) {
  return {b.add(Op::cdist, {c.tensor("x1"), c.tensor("x2")}, {attr_number(AttrKey::p, c.number_or("p", 2.0))})};
}

Values euclidean_dist(Builder& b, const Call& c) {
  return {b.add(Op::cdist, {c.tensor("x1"), c.tensor("x2")}, {attr_number(AttrKey::p, 2.0)})};
}

/// The part of cdist above the diagonal, row by row.
Values pdist(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  const Dim rows = b.size(x, 0);
  if (!rows.is_const() || rows.value() > 20000) c.unsupported("a symbolic number of rows");
  const std::int64_t n = rows.value();
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = i + 1; j < n; ++j) places.push_back(i * n + j);
  }
  if (places.empty()) return {b.full({0}, 0.0, c.result_dtype())};
  const ValueId all = b.flatten(b.add(Op::cdist, {x, x}, {attr_number(AttrKey::p, c.number_or("p", 2.0))}));
  return {b.index_select(all, b.constant(DType::i64, {static_cast<std::int64_t>(places.size())}, places.data()), 0)};
}

/// The p-norm of x along `axis`.
ValueId norm(Builder& b, ValueId x, double p, std::int64_t axis, bool keepdims) {
  const DType t = b.dtype(x);
  if (p == 2.0)
    return b.expr("sqrt(s)", {{"s", b.reduce(b.expr("x * x", {{"x", x}}, t), "sum", {axis}, keepdims, t)}}, t);
  if (p == 1.0) return b.reduce(b.expr("abs(x)", {{"x", x}}, t), "sum", {axis}, keepdims, t);
  if (p == 0.0) return b.reduce(b.expr("x != 0 ? 1 : 0", {{"x", x}}, t), "sum", {axis}, keepdims, t);
  if (std::isinf(p)) return b.reduce(b.expr("abs(x)", {{"x", x}}, t), p > 0 ? "max" : "min", {axis}, keepdims, t);
  const ValueId s = b.reduce(b.expr("pow(abs(x), p)", {{"x", x}, {"p", p}}, t), "sum", {axis}, keepdims, t);
  return b.expr("pow(s, q)", {{"s", s}, {"q", 1 / p}}, t);
}

Values pairwise_distance(Builder& b, const Call& c) {
  const DType result = c.result_dtype(), wide = compute_type(result);
  const ValueId d = b.expr(
      "x - y + eps", {{"x", c.tensor("x1")}, {"y", c.tensor("x2")}, {"eps", c.number_or("eps", 1e-6)}}, wide, wide);
  return {b.cast(norm(b, d, c.number_or("p", 2.0), -1, c.flag_or("keepdim", false)), result)};
}

Values cosine_similarity(Builder& b, const Call& c) {
  const DType result = c.result_dtype(), wide = compute_type(result);
  ValueId x = b.cast(c.tensor("x1"), wide), y = b.cast(c.tensor("x2"), wide);
  const double eps = c.number_or("eps", 1e-8);
  const int rank = std::max(b.rank(x), b.rank(y));
  const std::int64_t axis = c.integer_or("dim", 1);
  const auto widen = [&](ValueId v) {
    Dims s = b.shape(v);
    s.insert(s.begin(), static_cast<std::size_t>(rank - b.rank(v)), 1);
    return b.reshape(v, s);
  };
  x = widen(x);
  y = widen(y);
  // Norms are those of the operands as given: a broadcast axis counts with every repetition.
  const ValueId zero = b.expr("x * 0 + y * 0", {{"x", x}, {"y", y}}, wide);
  const Dims shape = b.shape(zero);
  x = b.expand(x, shape);
  y = b.expand(y, shape);
  const ValueId nx = norm(b, x, 2.0, axis, true), ny = norm(b, y, 2.0, axis, true);
  const ValueId p =
      b.expr("x / max(nx, eps) * (y / max(ny, eps))", {{"x", x}, {"nx", nx}, {"eps", eps}, {"y", y}, {"ny", ny}}, wide);
  return {b.cast(b.reduce(p, "sum", {axis}, false, wide), result)};
}

constexpr Lowering kTable[] = {
    {"aten.cdist.default", cdist},
    {"aten._cdist_forward.default", cdist},
    {"aten._euclidean_dist.default", euclidean_dist},
    {"aten.pdist.default", pdist},
    {"aten._pdist_forward.default", pdist},
    {"aten.pairwise_distance.default", pairwise_distance},
    {"aten.cosine_similarity.default", cosine_similarity},
};

}  // namespace

std::span<const Lowering> distance_lowerings() {
  return kTable;
}

}  // namespace tern
