// NumPy's advanced indexing: index.Tensor and index_put, and the ops along one axis built on them.
#include "exporter/lower/indexing.h"

#include <algorithm>

namespace tern {

ValueId as_index(Builder& b, ValueId index) {
  return b.dtype(index) == DType::i32 ? index : b.cast(index, DType::i64);
}

namespace {

using Values = std::vector<ValueId>;

bool is_mask(Builder& b, ValueId v) {
  return v != kNoValue && (b.dtype(v) == DType::boolean || b.dtype(v) == DType::u8);
}

Dims broadcast(Builder& b, const Dims& x, const Dims& y) {
  const Dims& longer = x.size() >= y.size() ? x : y;
  const Dims& shorter = x.size() >= y.size() ? y : x;
  Dims r = longer;
  const std::size_t skip = longer.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    if (r[skip + i].is(1) || shorter[i].is_const()) r[skip + i] = shorter[i].is(1) ? r[skip + i] : shorter[i];
  }
  return r;
}

/// x[indices] in the form of Op::index: every axis up to the last indexed axis has a list of positions, all of one
/// shape. NumPy's result has this shape followed by the other axes. None before or between the indices becomes
/// positions counted along an axis of their own.
struct IndexLists {
  Values lists;
  Dims shape;
};

/// Replaces masks by the positions of their true elements; one entry for each axis, kNoValue for None. If the call
/// `defines_size`, the data determine its result's size.
Values expand_masks(Builder& b, const Call& c, const Values& indices, bool defines_size) {
  Values r;
  for (ValueId v : indices) {
    if (!is_mask(b, v)) {
      r.push_back(v == kNoValue ? v : as_index(b, v));
      continue;
    }
    const int rank = b.rank(v);
    if (rank == 0) c.unsupported("a mask without dimensions cannot be an index");
    // The positions' axis takes the mask's place, or the front if None separates the indices.
    const Dim count = defines_size ? data_size(b, c, 0, r.size()) : b.pool().new_symbol("u", 0, kNoBound);
    const ValueId positions = b.add(Op::nonzero, {v}, {attr(AttrKey::symbols, Dims{count})});
    for (int k = 0; k < rank; ++k) r.push_back(b.select(positions, 1, k));
  }
  return r;
}

IndexLists positions_of(Builder& b, const Call& c, ValueId x, const Values& index_arguments, bool defines_size) {
  Values indices = expand_masks(b, c, index_arguments, defines_size);
  while (!indices.empty() && indices.back() == kNoValue) indices.pop_back();
  if (indices.size() > static_cast<std::size_t>(b.rank(x))) c.unsupported("there are more indices than axes");
  Dims common;
  std::size_t first = indices.size(), groups = 0;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (indices[i] == kNoValue) continue;
    first = std::min(first, i);
    groups += i == 0 || indices[i - 1] == kNoValue;
    common = broadcast(b, common, b.shape(indices[i]));
  }
  // Result axes of the positions: an axis per None, and the indices' own axes from `index_axis` on.
  Dims shape;
  const bool adjacent = groups <= 1;
  std::size_t index_axis = 0;
  if (adjacent) {
    for (std::size_t i = 0; i < first; ++i) shape.push_back(b.size(x, static_cast<std::int64_t>(i)));
    index_axis = first;
  }
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(index_axis), common.begin(), common.end());
  std::vector<std::size_t> axis_of(indices.size());  // axis of the result, for a None
  for (std::size_t i = 0; i < indices.size(); ++i) {
    axis_of[i] = adjacent ? i : shape.size();
    if (indices[i] == kNoValue && !adjacent) shape.push_back(b.size(x, static_cast<std::int64_t>(i)));
  }
  IndexLists r{{}, shape};
  for (std::size_t i = 0; i < indices.size(); ++i) {
    Dims sizes(shape.size(), 1);
    ValueId v = indices[i];
    if (v == kNoValue) {
      const Dim n = b.size(x, static_cast<std::int64_t>(i));
      sizes[axis_of[i]] = n;
      v = b.iota(n, DType::i64);
    } else {
      const Dims index_shape = b.shape(v);
      std::copy(index_shape.begin(), index_shape.end(),
                sizes.begin() + static_cast<std::ptrdiff_t>(index_axis + common.size() - index_shape.size()));
    }
    r.lists.push_back(b.expand(b.reshape(v, sizes), shape));
  }
  return r;
}

ValueId wrapped(Builder& b, ValueId index, Dim size) {
  return b.expr("i < 0 ? i + n : i", {{"i", index}, size_arg(b, "n", size)}, DType::i64);
}

ValueId index_of(Builder& b, const Call& c, ValueId x, const Values& indices) {
  std::size_t index_count = 0, last = 0;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (indices[i] == kNoValue) continue;
    ++index_count;
    last = i;
  }
  if (index_count == 0) return x;
  const ValueId single_index = index_count == 1 ? indices[last] : kNoValue;
  if (is_mask(b, single_index) && last == 0 && b.rank(single_index) == b.rank(x) && b.rank(x) > 0) {
    return b.add(Op::masked_select, {x, b.cast(single_index, DType::boolean)},
                 {attr(AttrKey::symbols, Dims{data_size(b, c, 0, 0)})});
  }
  if (single_index != kNoValue && !is_mask(b, single_index) &&
      last > 0) {  // whole slices, without positions for the axes before
    const auto axis = static_cast<std::int64_t>(last);
    return b.index_select(x, wrapped(b, as_index(b, single_index), b.size(x, axis)), axis);
  }
  Values inputs = positions_of(b, c, x, indices, true).lists;
  inputs.insert(inputs.begin(), x);
  return b.add(Op::index, std::move(inputs));
}

Values index(Builder& b, const Call& c) {
  return {index_of(b, c, c.tensor("self"), c.tensors("indices"))};
}

bool one_element(Builder& b, ValueId v) {
  const Dims shape = b.shape(v);
  return std::all_of(shape.begin(), shape.end(), [](Dim d) { return d.is(1); });
}

ValueId put_at(Builder& b, const Call& c, ValueId x, const Values& indices, ValueId values, bool accumulate) {
  const DType t = b.dtype(x);
  values = b.cast(values, t);
  const bool has_single_index = !indices.empty() && std::count(indices.begin(), indices.end(), kNoValue) + 1 ==
                                                        static_cast<std::ptrdiff_t>(indices.size());
  if (has_single_index && is_mask(b, indices.back()) && one_element(b, values)) {
    // A single value for all masked elements needs no positions.
    Dims sizes(indices.size() - 1, 1);
    const Dims mask = b.shape(indices.back());
    sizes.insert(sizes.end(), mask.begin(), mask.end());
    sizes.resize(static_cast<std::size_t>(b.rank(x)), 1);
    return b.expr(accumulate ? "m ? x + v : x" : "m ? v : x",
                  {{"m", b.reshape(indices.back(), sizes)}, {"v", b.reshape(values, {})}, {"x", x}}, t);
  }
  Values inputs = positions_of(b, c, x, indices, false).lists;
  if (inputs.empty()) {
    values = b.expand(values, b.shape(x));
    return accumulate ? b.expr("x + v", {{"x", x}, {"v", values}}, t) : values;
  }
  inputs.insert(inputs.begin(), {x, values});
  return b.add(Op::index_put, std::move(inputs), {attr(AttrKey::accumulate, Dim(accumulate))});
}

Values index_put(Builder& b, const Call& c) {
  return {put_at(b, c, c.tensor("self"), c.tensors("indices"), c.tensor("values"), c.flag("accumulate"))};
}

Values clamped(Builder& b, ValueId x, const Values& indices) {
  Values r;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const ValueId v = indices[i];
    const ExprArg n = size_arg(b, "n", b.size(x, static_cast<std::int64_t>(i)));
    r.push_back(v == kNoValue ? v : b.expr("max(min(i, n - 1), -n)", {{"i", v}, n}, DType::i64));
  }
  return r;
}
Values masked_index(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self"), mask = c.tensor("mask");
  const CallArgument& fill = c.arg("fill");
  const ExprArg value("f", fill.kind == CallArgument::Kind::complex ? std::complex<double>(fill.number, fill.imaginary)
                                                                    : std::complex<double>(c.number("fill")));
  if (b.numel(x).is(0)) return {b.full(c.declared.at(0).shape, value.number, b.dtype(x))};
  const ValueId found = index_of(b, c, x, clamped(b, x, c.tensors("indices")));
  return {b.expr("m ? x : f", {{"m", mask}, {"x", found}, value}, b.dtype(x))};
}
Values masked_put(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  if (b.numel(x).is(0)) return {x};
  const ValueId retained = b.expr("m ? v : 0", {{"m", c.tensor("mask")}, {"v", c.tensor("values")}}, b.dtype(x));
  return {put_at(b, c, x, clamped(b, x, c.tensors("indices")), retained, true)};
}

}  // namespace

ValueId put_along(Builder& b, ValueId x, std::int64_t axis, ValueId index, ValueId source, bool accumulate) {
  const Dims shape = b.shape(x);
  ValueId line = at_least_1d(b, x);
  axis = b.normal_axis(line, axis);
  index = as_index(b, index);
  if (b.rank(index) == 0) index = b.reshape(index, {1});
  Dims position;
  for (std::int64_t i = 0; i < axis; ++i) position.push_back(b.size(line, i));
  position.push_back(b.size(index, 0));
  Values inputs = {line, b.cast(source, b.dtype(x))};
  for (std::int64_t i = 0; i <= axis; ++i) {
    Dims sizes(position.size(), 1);
    sizes[static_cast<std::size_t>(i)] = position[static_cast<std::size_t>(i)];
    const ValueId v = i == axis ? index : b.iota(position[static_cast<std::size_t>(i)], DType::i64);
    inputs.push_back(b.expand(b.reshape(v, sizes), position));
  }
  return b.reshape(b.add(Op::index_put, std::move(inputs), {attr(AttrKey::accumulate, Dim(accumulate))}), shape);
}

namespace {

Values index_copy(Builder& b, const Call& c) {
  return {put_along(b, c.tensor("self"), c.integer("dim"), c.tensor("index"), c.tensor("source"), false)};
}
Values index_add(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  const CallArgument& alpha = c.arg("alpha");
  ValueId source = c.tensor("source");
  if (alpha.kind == CallArgument::Kind::complex || c.number("alpha") != 1) {
    source =
        b.expr("s * a",
               {{"s", source},
                {"a", std::complex<double>(alpha.kind == CallArgument::Kind::complex ? alpha.number : c.number("alpha"),
                                           alpha.imaginary)}},
               b.dtype(x));
  }
  // 16-bit elements are rounded once, after the last addition.
  const DType dtype = b.dtype(x), compute_dtype = is_floating(dtype) ? compute_type(dtype) : dtype;
  const ValueId sum =
      put_along(b, b.cast(x, compute_dtype), c.integer("dim"), c.tensor("index"), b.cast(source, compute_dtype), true);
  return {b.cast(sum, dtype)};
}
/// Marks the positions along the axis, and chooses the value where a mark stands.
Values index_fill(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self"), line = at_least_1d(b, x);
  const ValueId value = b.reshape(c.tensor_as("value", b.dtype(x)), {});
  const std::int64_t axis = b.normal_axis(line, c.integer("dim"));
  Dims sizes(static_cast<std::size_t>(b.rank(line)), 1);
  sizes[static_cast<std::size_t>(axis)] = b.size(line, axis);
  const ValueId is_filled = put_along(b, b.full({b.size(line, axis)}, 0, DType::boolean), 0, c.tensor("index"),
                                      b.full({}, 1, DType::boolean), false);
  const ValueId y = b.expr("filled ? value : x",
                           {{"filled", b.reshape(is_filled, sizes)}, {"value", value}, {"x", line}}, b.dtype(x));
  return {b.reshape(y, b.shape(x))};
}

/// Scatters with the index repeated over the other axes.
Values index_reduce(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self"), line = at_least_1d(b, x), source = at_least_1d(b, c.tensor("source"));
  const std::int64_t axis = b.normal_axis(line, c.integer("dim"));
  std::string kind = c.text("reduce");
  if (kind.starts_with("am")) kind.erase(0, 1);  // amax, amin
  Dims sizes(static_cast<std::size_t>(b.rank(line)), 1);
  const ValueId index = as_index(b, at_least_1d(b, c.tensor("index")));
  sizes[static_cast<std::size_t>(axis)] = b.size(index, 0);
  const ValueId spread = b.expand(b.reshape(index, sizes), b.shape(source));
  return {scatter_elements(b, x, axis, spread, source, static_cast<ScatterKind>(scatter_kind_from_name(kind)),
                           c.flag("include_self"))};
}

Values index_select_indexing(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  ValueId index = as_index(b, c.tensor("index"));
  if (b.rank(x) == 0) return {b.reshape(b.index_select(at_least_1d(b, x), b.reshape(index, {}), 0), {})};
  return {b.index_select(x, at_least_1d(b, index), c.integer("dim"))};
}

constexpr Lowering kIndexingLowerings[] = {
    {"aten.index.Tensor", index},
    {"aten.index.Tensor_hacked_twin", index},
    {"aten._unsafe_index.Tensor", index},
    {"aten._unsafe_index.Tensor_hacked_twin", index},
    {"aten.index_put.default", index_put},
    {"aten.index_put.hacked_twin", index_put},
    {"aten._unsafe_index_put.default", index_put},
    {"aten._unsafe_index_put.hacked_twin", index_put},
    {"aten._index_put_impl.default", index_put},
    {"aten._unsafe_masked_index.default", masked_index},
    {"aten._unsafe_masked_index_put_accumulate.default", masked_put},
    {"aten.index_copy.default", index_copy},
    {"aten.index_add.default", index_add},
    {"aten.index_fill.int_Scalar", index_fill},
    {"aten.index_fill.int_Tensor", index_fill},
    {"aten.index_reduce.default", index_reduce},
    {"aten.index_select.default", index_select_indexing},
};

}  // namespace

std::span<const Lowering> advanced_index_lowerings() {
  return kIndexingLowerings;
}

std::span<const Lowering> indexing_lowerings() {
  static const std::vector<Lowering> lowerings = [] {
    std::vector<Lowering> v;
    for (auto table : {advanced_index_lowerings(), scatter_index_lowerings(), masked_lowerings(), embedding_lowerings(),
                       sparse_lowerings()}) {
      v.insert(v.end(), table.begin(), table.end());
    }
    return v;
  }();
  return lowerings;
}

}  // namespace tern
