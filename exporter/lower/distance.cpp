// Lowerings of distances and similarities between rows.
#include "exporter/lower/contraction.h"
#include "schema/work.h"

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
  if (!rows.is_const() || rows.value() > 20000) c.unsupported("the number of rows must be a constant, at most 20000");
  const std::int64_t n = rows.value();
  std::vector<std::int64_t> positions;
  charge_work(static_cast<std::uint64_t>(n) * static_cast<std::uint64_t>(n) / 2 * sizeof(std::int64_t));
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = i + 1; j < n; ++j) positions.push_back(i * n + j);
  }
  if (positions.empty()) return {b.full({0}, 0.0, c.result_dtype())};
  const ValueId distances = b.flatten(b.add(Op::cdist, {x, x}, {attr_number(AttrKey::p, c.number_or("p", 2.0))}));
  return {b.index_select(distances,
                         b.constant(DType::i64, {static_cast<std::int64_t>(positions.size())}, positions.data()), 0)};
}

constexpr Lowering kDistanceLowerings[] = {
    {"aten.cdist.default", cdist},
    {"aten._cdist_forward.default", cdist},
    {"aten._euclidean_dist.default", euclidean_dist},
    {"aten.pdist.default", pdist},
    {"aten._pdist_forward.default", pdist},
};

}  // namespace

std::span<const Lowering> distance_lowerings() {
  return kDistanceLowerings;
}

}  // namespace tern
