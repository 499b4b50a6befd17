// Sparse tensors of coordinates, as dense tensors, and padded batches of ragged rows.
#include <algorithm>

#include "exporter/lower/indexing.h"
#include "exporter/lower/pointwise.h"

namespace tern {
namespace {

using Values = std::vector<ValueId>;

/// The rows of `indices`, [sparse axes, elements].
Values coordinate_lists(Builder& b, const Call& c, ValueId indices) {
  const Dim axes = b.size(indices, 0);
  if (!axes.is_const()) c.unsupported("the number of sparse axes must be constant");
  Values lists;
  for (std::int64_t i = 0; i < axes.value(); ++i) lists.push_back(b.select(as_index(b, indices), 0, i));
  return lists;
}

/// Equal coordinates are added, as coalesce() does.
Values coordinates(Builder& b, const Call& c) {
  const DType t = c.result_dtype();
  const Dims size = c.dims("size");
  if (c.target.find("indices") == std::string::npos && c.target.find("tensors") == std::string::npos &&
      c.target.find("unsafe") == std::string::npos)
    return {b.full(size, 0, t)};
  Values inputs = {b.full(size, 0, t), b.cast(c.tensor("values"), t)};
  const Values lists = coordinate_lists(b, c, c.tensor("indices"));
  if (lists.empty()) c.unsupported("a tensor without sparse axes is not supported");
  inputs.insert(inputs.end(), lists.begin(), lists.end());
  return {b.add(Op::index_put, std::move(inputs), {attr(AttrKey::accumulate, Dim(1))})};
}

const Node* index_put_of(Builder& b, ValueId x) {
  for (const Node& n : b.function().nodes) {
    if (n.op == Op::index_put && std::ranges::find(n.outputs, x) != n.outputs.end()) return &n;
  }
  return nullptr;
}

Values to_sparse(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  // A node of its own: its elements are the nonzero ones, unlike those of a tensor of coordinates.
  return {index_put_of(b, x) == nullptr ? x : b.expr("x != 0 ? x : 0", {{"x", x}}, b.dtype(x))};
}
Values to_dense(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  return {b.cast(x, c.dtype_or("dtype", b.dtype(x)))};
}
Values coalesce(Builder&, const Call& c) {
  return {c.tensor("self")};
}

/// True for the elements that a sparse tensor has: boolean, over its first `axes` axes.
ValueId specified(Builder& b, ValueId x, int axes) {
  if (const Node* found = index_put_of(b, x)) {
    const Values lists(found->inputs.begin() + 2, found->inputs.end());
    const Dims shape = b.shape(x);
    Values inputs = {
        b.full(Dims(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(lists.size())), 0, DType::boolean),
        b.full(Dims(b.shape(lists[0])), 1, DType::boolean)};
    inputs.insert(inputs.end(), lists.begin(), lists.end());
    return b.add(Op::index_put, std::move(inputs), {attr(AttrKey::accumulate, Dim(0))});
  }
  const DType t = b.dtype(x);
  const ValueId is_specified = t == DType::boolean ? x : b.expr("x != 0", {{"x", x}}, compute_type(t), DType::boolean);
  std::vector<std::int64_t> dense;
  for (std::int64_t i = axes; i < b.rank(x); ++i) dense.push_back(i);
  return dense.empty() ? is_specified : b.reduce(is_specified, "any", dense, false, DType::boolean);
}

/// Positions of the elements, [elements, sparse axes]; `axis` is theirs in the call's result.
ValueId positions(Builder& b, const Call& c, int axes, std::size_t axis) {
  return b.add(Op::nonzero, {specified(b, c.tensor("self"), axes)},
               {attr(AttrKey::symbols, Dims{data_size(b, c, 0, axis)})});
}
Values sparse_indices(Builder& b, const Call& c) {
  const Dim axes = c.declared.at(0).shape.at(0);
  if (!axes.is_const()) c.unsupported("the number of sparse axes must be constant");
  return {b.transpose(positions(b, c, static_cast<int>(axes.value()), 1), 0, 1)};
}
Values sparse_values(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  const int axes = b.rank(x) - c.declared.at(0).rank() + 1;
  const ValueId positions_found = positions(b, c, axes, 0);
  Values inputs = {x};
  for (int i = 0; i < axes; ++i) inputs.push_back(b.select(positions_found, 1, i));
  return {b.add(Op::index, std::move(inputs))};
}
Values sparse_mask(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self"), mask = c.tensor("mask");
  return {b.expr("m ? x : 0", {{"m", specified(b, mask, b.rank(mask))}, {"x", x}}, b.dtype(x))};
}

Values sparse_sum(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  const bool has_axes = c.target.find(".dim") != std::string::npos;
  return {b.reduce(x, "sum", has_axes ? c.integers("dim") : b.all_axes(x), false, c.result_dtype())};
}

/// Elements that are not there take no part, and stay 0.
template <bool logarithm>
Values sparse_softmax(Builder& b, const Call& c) {
  const ValueId x = b.cast(c.tensor("self"), c.result_dtype());
  const DType t = b.dtype(x);
  const std::int64_t axis = b.normal_axis(x, c.integer("dim"));
  const ValueId is_specified = specified(b, c.tensor("self"), b.rank(x));
  const ValueId masked_values = b.expr("m ? x : -inf", {{"m", is_specified}, {"x", x}}, t);
  const ValueId y = b.add(Op::softmax, {masked_values},
                          {attr(AttrKey::axis, axis), attr(AttrKey::log, Dim(logarithm)), attr_dtype(t)});
  return {b.expr("m ? y : 0", {{"m", is_specified}, {"y", y}}, t)};
}

/// Rows values[offsets[i]] ... before offsets[i + 1], padded or cut to one length.
Values padded_rows(Builder& b, const Call& c) {
  const Values& offsets = c.tensors("offsets");
  if (offsets.size() != 1) c.unsupported("only one ragged axis is supported");
  const Dim length = c.dim("max_lengths"), batch = b.pool().sub(b.size(offsets[0], 0), 1);
  ValueId values = c.tensor("values");
  Dims padding_before(static_cast<std::size_t>(b.rank(values)), 0), padding_after = padding_before;
  padding_before[0] = 1;  // the padding
  values = b.pad(values, padding_before, padding_after, c.number("padding_value"));
  const auto bound = [&](std::int64_t first) { return b.reshape(b.slice(offsets[0], 0, first, batch), {batch, 1}); };
  const ValueId row = b.expr("o + i < e ? o + i + 1 : 0",
                             {{"o", bound(0)}, {"e", bound(1)}, {"i", b.iota(length, DType::i64)}}, DType::i64);
  return {b.index_select(values, row, 0)};
}
/// The inverse; rows beyond the padded length are 0.
Values ragged_rows(Builder& b, const Call& c) {
  const Values& offsets = c.tensors("offsets");
  if (offsets.size() != 1) c.unsupported("only one ragged axis is supported");
  const ValueId dense = c.tensor("dense"), segment_ends = b.cast(offsets[0], DType::i64);
  const Dim length = b.size(dense, 1);
  Dims shape = b.shape(dense);
  shape.erase(shape.begin());
  shape[0] = b.pool().mul(b.size(dense, 0), length);
  Dims padding_before(shape.size(), 0), padding_after = padding_before;
  padding_before[0] = 1;  // zeros
  const ValueId rows = b.pad(b.reshape(dense, shape), padding_before, padding_after);
  const Dim total = c.has_argument("total_L") ? c.dim("total_L") : c.declared.at(0).shape.at(0);
  const ValueId i = b.iota(total, DType::i64);
  const ValueId next =
      b.add(Op::searchsorted, {segment_ends, i}, {attr(AttrKey::right, Dim(1)), attr_dtype(DType::i64)});
  const ValueId sample = b.expr("n - 1", {{"n", next}}, DType::i64), start = b.index_select(segment_ends, sample, 0);
  const ValueId row = b.expr("i - o < n ? s * n + i - o + 1 : 0",
                             {{"i", i}, {"o", start}, {"s", sample}, size_arg(b, "n", length)}, DType::i64);
  return {b.index_select(rows, row, 0)};
}

constexpr Lowering kSparseLowerings[] = {
    {"aten.sparse_coo_tensor.indices_size", coordinates},
    {"aten.sparse_coo_tensor.size", coordinates},
    {"aten._sparse_coo_tensor_unsafe.default", coordinates},
    {"aten._sparse_coo_tensor_with_dims.default", coordinates},
    {"aten._sparse_coo_tensor_with_dims_and_tensors.default", coordinates},
    {"aten.to_sparse.default", to_sparse},
    {"aten.to_sparse.sparse_dim", to_sparse},
    {"aten._to_sparse.default", to_sparse},
    {"aten._to_sparse.sparse_dim", to_sparse},
    {"aten.to_dense.default", to_dense},
    {"aten._to_dense.default", to_dense},
    {"aten.coalesce.default", coalesce},
    {"aten._coalesce.default", coalesce},
    {"aten.indices.default", sparse_indices},
    {"aten._indices.default", sparse_indices},
    {"aten.values.default", sparse_values},
    {"aten._values.default", sparse_values},
    {"aten.sparse_mask.default", sparse_mask},
    {"aten._sparse_sum.default", sparse_sum},
    {"aten._sparse_sum.dtype", sparse_sum},
    {"aten._sparse_sum.dim", sparse_sum},
    {"aten._sparse_sum.dim_dtype", sparse_sum},
    {"aten._sparse_softmax.default", sparse_softmax<false>},
    {"aten._sparse_softmax.int", sparse_softmax<false>},
    {"aten._sparse_log_softmax.default", sparse_softmax<true>},
    {"aten._sparse_log_softmax.int", sparse_softmax<true>},
    {"aten._jagged_to_padded_dense_forward.default", padded_rows},
    {"aten._padded_dense_to_jagged_forward.default", ragged_rows},
};

}  // namespace

std::span<const Lowering> sparse_lowerings() {
  return kSparseLowerings;
}

}  // namespace tern
