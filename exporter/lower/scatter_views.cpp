// The functional twins of writing into a view, and diagonals.
#include <cstdlib>

#include "exporter/lower/movement.h"

namespace tern {
namespace {

using Values = std::vector<ValueId>;

Values slice_scatter(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  const SliceRange r = slice_range(b, c, x);
  Dims sizes = b.shape(x);
  sizes[static_cast<std::size_t>(r.axis)] = r.length;
  const ValueId src = b.expand(b.cast(c.tensor("src"), b.dtype(x)), sizes);
  return {b.add(Op::slice_scatter, {x, src},
                {attr(AttrKey::axis, Dim(r.axis)), attr(AttrKey::start, r.start), attr(AttrKey::step, Dim(r.step))})};
}

Values select_scatter(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  const std::int64_t axis = b.normal_axis(x, c.integer("dim"));
  Dim index = c.dim("index");
  if (b.pool().bounds(index).min < 0)
    index = b.pool().select(b.pool().lt(index, 0), b.pool().add(index, b.size(x, axis)), index);
  Dims sizes = b.shape(x);
  sizes[static_cast<std::size_t>(axis)] = 1;
  const ValueId src = b.expand(b.unsqueeze(b.cast(c.tensor("src"), b.dtype(x)), axis), sizes);
  return {b.add(Op::slice_scatter, {x, src},
                {attr(AttrKey::axis, Dim(axis)), attr(AttrKey::start, index), attr(AttrKey::step, Dim(1))})};
}

Values as_strided_scatter(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self"), src = b.expand(b.cast(c.tensor("src"), b.dtype(x)), c.dims("size"));
  const Dim offset = c.has_argument("storage_offset") ? c.dim("storage_offset") : Dim(0);
  return {b.add(Op::as_strided_scatter, {x, src},
                {attr(AttrKey::strides, c.dims("stride")), attr(AttrKey::offset, offset)})};
}

/// Writes `src` onto a diagonal of `x`, the inverse of diagonal().
ValueId put_diagonal(Builder& b, ValueId x, ValueId src, std::int64_t offset, std::int64_t axis1, std::int64_t axis2) {
  const ValueId view = diagonal(b, x, offset, axis1, axis2);
  const Node node = b.function().nodes.back();  // the as_strided added by diagonal()
  const Dims strides = node.dims(AttrKey::strides);
  return b.add(Op::as_strided_scatter, {x, b.expand(src, Dims(b.shape(view)))},
               {attr(AttrKey::strides, strides), attr(AttrKey::offset, node.dim(AttrKey::offset))});
}

Values diagonal_scatter(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  return {put_diagonal(b, x, b.cast(c.tensor("src"), b.dtype(x)), c.integer("offset"), c.integer("dim1"),
                       c.integer("dim2"))};
}

/// `wrap` continues the diagonal of a tall matrix after a row without it.
Values fill_diagonal(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  const Dims shape = b.shape(x);
  ExprPool& pool = b.pool();
  Dim stride = 0, step = 1, count = shape.at(0);
  for (std::size_t i = shape.size(); i-- > 0;) {
    count = pool.min(count, shape[i]);
    stride = pool.add(stride, step);
    step = pool.mul(step, shape[i]);
  }
  if (c.flag("wrap") && shape.size() == 2) count = pool.ceildiv(b.numel(x), stride);
  const ValueId value = b.expand(b.reshape(c.tensor_as("fill_value", b.dtype(x)), {}), {count});
  return {
      b.add(Op::as_strided_scatter, {x, value}, {attr(AttrKey::strides, Dims{stride}), attr(AttrKey::offset, Dim(0))})};
}

ValueId embed(Builder& b, ValueId x, std::int64_t offset, std::int64_t axis1, std::int64_t axis2) {
  const std::int64_t rank = b.rank(x) + 1;
  axis1 = axis1 < 0 ? axis1 + rank : axis1;
  axis2 = axis2 < 0 ? axis2 + rank : axis2;
  const Dim matrix_size = b.pool().add(b.size(x, -1), std::abs(offset));
  Dims sizes;
  std::int64_t source_axis = 0;
  for (std::int64_t a = 0; a < rank; ++a)
    sizes.push_back(a == axis1 || a == axis2 ? matrix_size : b.size(x, source_axis++));
  return put_diagonal(b, b.full(sizes, 0.0, b.dtype(x)), x, offset, axis1, axis2);
}
Values diag_embed(Builder& b, const Call& c) {
  return {embed(b, c.tensor("self"), c.integer("offset"), c.integer("dim1"), c.integer("dim2"))};
}
Values diagflat(Builder& b, const Call& c) {
  return {embed(b, b.flatten(c.tensor("self")), c.integer("offset"), 0, 1)};
}
Values diag(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  return {b.rank(x) == 1 ? embed(b, x, c.integer("diagonal"), 0, 1) : diagonal(b, x, c.integer("diagonal"), 0, 1)};
}

constexpr Lowering kScatters[] = {
    {"aten.slice_scatter.default", slice_scatter},
    {"aten.select_scatter.default", select_scatter},
    {"aten.as_strided_scatter.default", as_strided_scatter},
    {"aten.diagonal_scatter.default", diagonal_scatter},
    {"aten.fill_diagonal_.default", fill_diagonal},
    {"aten.diag_embed.default", diag_embed},
    {"aten.diagflat.default", diagflat},
    {"aten.diag.default", diag},
};

}  // namespace

std::span<const Lowering> scatter_lowerings() {
  return kScatters;
}

}  // namespace tern
