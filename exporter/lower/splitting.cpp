// Lowerings of splits along an axis.
#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>

#include "exporter/lower/limits.h"
#include "exporter/lower/movement.h"

namespace tern {
namespace {

using Values = std::vector<ValueId>;

/// Consecutive parts of the given lengths.
Values split_chunks(Builder& b, ValueId x, std::int64_t axis, const Dims& lengths) {
  Values results;
  Dim offset = 0;
  for (Dim length : lengths) {
    results.push_back(b.slice(x, axis, length.is(0) ? Dim(0) : offset, length));
    offset = b.pool().add(offset, length);
  }
  return results;
}
Values split_sizes(Builder& b, const Call& c) {
  const bool has_sizes = c.target.find("split_with_sizes") != std::string::npos;
  return split_chunks(b, c.tensor("self"), c.integer("dim"),
                      c.dims(has_sizes ? ArgumentName("split_sizes") : "split_size"));
}
/// Parts of equal length except the last; PyTorch's record gives their number.
Values split_every(Builder& b, const Call& c, ValueId x, std::int64_t axis, Dim length) {
  Dims lengths;
  const Dim size = b.size(x, axis);
  const std::size_t count = std::max<std::size_t>(c.declared.size(), 1);
  for (std::size_t i = 0; i + 1 < count; ++i) lengths.push_back(length);
  lengths.push_back(b.pool().sub(size, b.pool().mul(length, static_cast<std::int64_t>(count) - 1)));
  return split_chunks(b, x, axis, lengths);
}
Values split(Builder& b, const Call& c) {
  return split_every(b, c, c.tensor("self"), c.integer("dim"), c.dim("split_size"));
}
Values chunk(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  const std::int64_t axis = c.integer("dim");
  return split_every(
      b, c, x, axis,
      b.pool().max(b.pool().ceildiv(b.size(x, axis), c.integer("chunks")), b.size(x, axis).is(0) ? 0 : 1));
}

Values split_at(Builder& b, ValueId x, std::int64_t axis, const Dims& indices) {
  Dims lengths;
  Dim offset = 0;
  const Dim size = b.size(x, axis);
  ExprPool& p = b.pool();
  Values results;
  auto add_slice = [&](Dim slice_begin, Dim slice_end) {
    const Dim length = p.max(p.sub(slice_end, slice_begin), 0);
    results.push_back(b.slice(x, axis, length.is(0) ? Dim(0) : slice_begin, length));
  };
  for (Dim i : indices) {
    const Dim end = clamp_index(b, i, size);
    add_slice(offset, end);
    offset = end;
  }
  add_slice(offset, size);
  return results;
}
/// The first size % n parts are longer by 1.
Values split_evenly(Builder& b, const Call& c, ValueId x, std::int64_t axis, std::int64_t n) {
  require_results(c, n);
  ExprPool& p = b.pool();
  const Dim size = b.size(x, axis), base = p.floordiv(size, n), longer_count = p.mod(size, n);
  Dims lengths;
  for (std::int64_t i = 0; i < n; ++i) lengths.push_back(p.add(base, p.lt(i, longer_count)));
  return split_chunks(b, x, axis, lengths);
}
Values tensor_split_sections(Builder& b, const Call& c) {
  return split_evenly(b, c, c.tensor("self"), c.integer("dim"), c.integer("sections"));
}
Values tensor_split_indices(Builder& b, const Call& c) {
  return split_at(b, c.tensor("self"), c.integer("dim"), c.dims("indices"));
}
/// Splits at positions from a tensor: each becomes a size known at run time.
Values tensor_split_by_tensor(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self"), positions = c.tensor("tensor_indices_or_sections");
  if (b.rank(positions) == 0)
    return split_evenly(b, c, x, c.integer("dim"), static_cast<std::int64_t>(c.declared.size()));
  if (!b.size(positions, 0).is_const()) c.unsupported("the number of results depends on a symbolic size");
  require_results(c, b.size(positions, 0).value());
  Dims indices;
  for (std::int64_t i = 0; i < b.size(positions, 0).value(); ++i) {
    indices.push_back(b.pool().new_symbol("u_split", -kNoBound, kNoBound));
    b.add_all(Op::item, {b.select(positions, 0, i)}, {attr(AttrKey::symbols, indices.back())});
  }
  return split_at(b, x, c.integer("dim"), indices);
}

/// hsplit, vsplit, dsplit: the axis follows from the name.
std::int64_t split_axis(Builder& b, const Call& c) {
  const char kind = c.target[5];
  return kind == 'h' ? (b.rank(c.tensor("self")) == 1 ? 0 : 1) : kind == 'v' ? 0 : 2;
}
Values xsplit_int(Builder& b, const Call& c) {
  return split_evenly(b, c, c.tensor("self"), split_axis(b, c), c.integer("sections"));
}
Values xsplit_array(Builder& b, const Call& c) {
  return split_at(b, c.tensor("self"), split_axis(b, c), c.dims("indices"));
}

Values unbind(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  const Dim size = b.size(x, c.integer("dim"));
  if (!size.is_const()) c.unsupported("the number of results depends on a symbolic size");
  require_results(c, size.value());
  Values results;
  for (std::int64_t i = 0; i < size.value(); ++i) results.push_back(b.select(x, c.integer("dim"), i));
  return results;
}

constexpr Lowering kSplittingLowerings[] = {
    {"aten.split.Tensor", split},
    {"aten.split_copy.Tensor", split},
    {"aten.unsafe_split.Tensor", split},
    {"aten.split.sizes", split_sizes},
    {"aten.split_with_sizes.default", split_sizes},
    {"aten.split_with_sizes_copy.default", split_sizes},
    {"aten.unsafe_split_with_sizes.default", split_sizes},
    {"aten.chunk.default", chunk},
    {"aten.unsafe_chunk.default", chunk},
    {"aten.tensor_split.sections", tensor_split_sections},
    {"aten.tensor_split.indices", tensor_split_indices},
    {"aten.tensor_split.tensor_indices_or_sections", tensor_split_by_tensor},
    {"aten.hsplit.int", xsplit_int},
    {"aten.vsplit.int", xsplit_int},
    {"aten.dsplit.int", xsplit_int},
    {"aten.hsplit.array", xsplit_array},
    {"aten.vsplit.array", xsplit_array},
    {"aten.dsplit.array", xsplit_array},
    {"aten.unbind.int", unbind},
    {"aten.unbind_copy.int", unbind},
};

}  // namespace

std::span<const Lowering> splitting_lowerings() {
  return kSplittingLowerings;
}

}  // namespace tern
