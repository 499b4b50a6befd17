// gather, scatter, take and put.
#include "exporter/lower/indexing.h"

namespace tern {

ValueId scatter_elements(Builder& b, ValueId x, std::int64_t axis, ValueId index, ValueId source, ScatterKind kind,
                         bool include_self) {
  const Dims shape = b.shape(x);
  const ValueId line = at_least_1d(b, x);
  const DType t = b.dtype(x);
  axis = b.normal_axis(line, axis);
  const auto scatter = [&](ValueId target, ValueId elements, ScatterKind reduction, bool include) {
    return b.add(Op::scatter, {target, index, elements},
                 {attr(AttrKey::axis, axis), attr(AttrKey::kind, Dim(static_cast<std::int64_t>(reduction))),
                  attr(AttrKey::include_self, Dim(include))});
  };
  source = b.cast(source, t);
  if (kind != ScatterKind::mean || !is_integral(t)) return b.reshape(scatter(line, source, kind, include_self), shape);
  // Sums and counts of integers wrap.
  const ValueId ones = b.full(b.shape(source), 1, t), self_count = b.full(b.shape(line), include_self ? 1 : 0, t);
  const ValueId sum = scatter(line, source, ScatterKind::sum, include_self);
  const ValueId count = scatter(self_count, ones, ScatterKind::sum, true);
  return b.reshape(b.expr("floordiv(s, n == 0 ? 1 : n)", {{"s", sum}, {"n", count}}, t), shape);
}

namespace {

using Values = std::vector<ValueId>;

Values gather_scatter(Builder& b, const Call& c) {
  const ValueId x = at_least_1d(b, c.tensor("self")), index = as_index(b, c.tensor("index"));
  const Dims shape = b.shape(index);
  if (b.numel(index).is(0)) return {b.full(shape, 0, b.dtype(x))};  // any rank, as in PyTorch
  return {b.reshape(b.gather(x, at_least_1d(b, index), c.integer("dim")), shape)};
}

ValueId scatter_along(Builder& b, const Call& c, ValueId src, ScatterKind kind, bool include_self) {
  const ValueId x = c.tensor("self");
  const ValueId index = at_least_1d(b, as_index(b, c.tensor("index")));
  if (b.numel(index).is(0)) return x;
  return scatter_elements(b, x, c.integer("dim"), index, src, kind, include_self);
}
ValueId source(Builder& b, const Call& c) {
  return at_least_1d(b, c.tensor("src"));
}
ScatterKind named_kind(const Call& c) {
  const std::string name = c.text("reduce");
  if (name == "add" || name == "sum") return ScatterKind::sum;
  if (name == "multiply" || name == "prod") return ScatterKind::prod;
  if (name == "mean") return ScatterKind::mean;
  if (name == "amax") return ScatterKind::max;
  if (name == "amin") return ScatterKind::min;
  c.unsupported("unsupported reduction '" + name + "'");
}
Values scatter_src(Builder& b, const Call& c) {
  return {scatter_along(b, c, source(b, c), ScatterKind::set, true)};
}
Values scatter_value(Builder& b, const Call& c) {
  return {scatter_along(b, c, c.tensor_as("value", b.dtype(c.tensor("self"))), ScatterKind::set, true)};
}
Values scatter_reduce_src(Builder& b, const Call& c) {
  return {scatter_along(b, c, source(b, c), named_kind(c), true)};
}
Values scatter_reduce_value(Builder& b, const Call& c) {
  return {scatter_along(b, c, c.tensor_as("value", b.dtype(c.tensor("self"))), named_kind(c), true)};
}
Values scatter_add(Builder& b, const Call& c) {
  return {scatter_along(b, c, source(b, c), ScatterKind::sum, true)};
}
Values scatter_reduce(Builder& b, const Call& c) {
  return {scatter_along(b, c, source(b, c), named_kind(c), c.flag("include_self"))};
}

Values take_elements(Builder& b, const Call& c) {
  return {b.add(Op::index, {b.flatten(c.tensor("self")), as_index(b, c.tensor("index"))})};
}
Values put_elements(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  const Dims shape = b.shape(x);
  const ValueId index = b.flatten(as_index(b, c.tensor("index")));
  const ValueId values = b.cast(b.flatten(c.tensor("source")), b.dtype(x));
  const ValueId y =
      b.add(Op::index_put, {b.flatten(x), values, index}, {attr(AttrKey::accumulate, Dim(c.flag("accumulate")))});
  return {b.reshape(y, shape)};
}

Values take_along_dim(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self"), indices = c.tensor("indices");
  const Dim along = c.has_argument("dim") ? b.size(x, c.integer("dim")) : b.numel(x);
  const ValueId index = b.expr("i < 0 ? i + n : i", {{"i", indices}, size_arg(b, "n", along)}, DType::i64);
  if (!c.has_argument("dim")) return {b.gather(b.flatten(x), b.flatten(index), 0)};
  const std::int64_t axis = b.normal_axis(x, c.integer("dim"));
  // Broadcasts tensor and indices to each other except along the indexed axis.
  Dims source_shape = b.shape(x), index_shape = b.shape(index);
  if (source_shape.size() != index_shape.size()) c.unsupported("tensor and indices must have the same rank");
  for (std::size_t i = 0; i < source_shape.size(); ++i) {
    if (static_cast<std::int64_t>(i) == axis) continue;
    if (source_shape[i].is(1)) source_shape[i] = index_shape[i];
    if (index_shape[i].is(1)) index_shape[i] = source_shape[i];
  }
  return {b.gather(b.expand(x, source_shape), b.expand(index, index_shape), axis)};
}

constexpr Lowering kScatterIndexLowerings[] = {
    {"aten.gather.default", gather_scatter},
    {"aten.scatter.src", scatter_src},
    {"aten.scatter.value", scatter_value},
    {"aten.scatter.reduce", scatter_reduce_src},
    {"aten.scatter.value_reduce", scatter_reduce_value},
    {"aten.scatter_add.default", scatter_add},
    {"aten.scatter_reduce.two", scatter_reduce},
    {"aten.take.default", take_elements},
    {"aten.put.default", put_elements},
    {"aten.take_along_dim.default", take_along_dim},
};

}  // namespace

std::span<const Lowering> scatter_index_lowerings() {
  return kScatterIndexLowerings;
}

}  // namespace tern
