// Lowerings of counting and searching: unique, histograms, bincount, searchsorted, segment_reduce.
#include <algorithm>

#include "exporter/lower/pointwise.h"
#include "exporter/lower/reduction.h"

namespace tern {

Dim data_size(Builder& b, const Call& c, std::size_t i, std::size_t axis) {
  if (i < c.declared.size() && axis < c.declared[i].shape.size()) {
    const Dim d = c.declared[i].shape[axis];
    const int symbol = d.is_const() ? -1 : b.pool().symbol_of(d);
    if (symbol >= 0 && b.pool().symbols()[static_cast<std::size_t>(symbol)].name.starts_with('u')) {
      const std::vector<Node>& nodes = b.function().nodes;
      const bool is_used = std::any_of(nodes.begin(), nodes.end(), [&](const Node& n) {
        const AttrData* a = n.find(AttrKey::symbols);
        const Dims* dims = a == nullptr ? nullptr : std::get_if<Dims>(a);
        return dims != nullptr && std::find(dims->begin(), dims->end(), d) != dims->end();
      });
      if (!is_used) return d;
    }
  }
  return b.pool().new_symbol("u", 0, kNoBound);
}

namespace {

using Values = std::vector<ValueId>;

Values unique_of(Builder& b, const Call& c, ValueId x, bool has_axis, std::int64_t axis, bool consecutive) {
  std::vector<Attr> attrs = {
      attr(AttrKey::symbols, Dims{data_size(b, c, 0, has_axis ? static_cast<std::size_t>(axis) : 0)})};
  if (has_axis) attrs.push_back(attr(AttrKey::axis, axis));
  if (consecutive) attrs.push_back(attr(AttrKey::consecutive, Dim(1)));
  return b.add_all(Op::unique, {x}, std::move(attrs));
}

/// PyTorch returns empty tensors for unrequested results.
Values select_requested(Builder& b, const Call& c, Values r) {
  if (!c.flag_or("return_inverse", true)) r[1] = b.full({0}, 0, DType::i64);
  if (!c.flag_or("return_counts", true)) r[2] = b.full({0}, 0, DType::i64);
  r.resize(std::max<std::size_t>(c.declared.size(), 2));
  return r;
}
Values unique2(Builder& b, const Call& c) {
  return select_requested(b, c, unique_of(b, c, c.tensor("self"), false, 0, false));
}
Values unique_dim(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  return unique_of(b, c, x, true, b.normal_axis(x, c.integer("dim")), false);
}
Values unique_dim_consecutive(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  return unique_of(b, c, x, true, b.normal_axis(x, c.integer("dim")), true);
}
Values unique_consecutive(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  const bool has_dim = c.has_argument("dim");
  return select_requested(b, c, unique_of(b, c, x, has_dim, has_dim ? b.normal_axis(x, c.integer("dim")) : 0, true));
}

Values histc(Builder& b, const Call& c) {
  return {b.add_all(
      Op::histogram, {c.tensor("self")},
      {attr(AttrKey::bins, c.integer("bins")), attr_numbers(AttrKey::range, {c.number("min"), c.number("max")})})[0]};
}
Values histogram(Builder& b, const Call& c) {
  std::vector<Attr> attrs = {attr(AttrKey::full, Dim(1)), attr(AttrKey::density, Dim(c.flag("density")))};
  ValueId edges = kNoValue;
  if (c.is_tensor("bins")) {
    edges = c.tensor("bins");
  } else {
    attrs.push_back(attr(AttrKey::bins, c.integer("bins")));
    if (c.has_argument("range")) attrs.push_back(attr_numbers(AttrKey::range, c.numbers("range")));
  }
  return b.add_all(Op::histogram, {c.tensor("self"), edges, c.tensor_or_none("weight")}, std::move(attrs));
}

ValueId search(Builder& b, ValueId sorted, ValueId values, bool right, DType result, ValueId sorter = kNoValue) {
  return b.add(Op::searchsorted, {sorted, values, sorter}, {attr(AttrKey::right, Dim(right)), attr_dtype(result)});
}

/// Searches in the common type of the operands: a number and a tensor of no dimensions do not widen it.
Values search_call(Builder& b, const Call& c, ArgumentName sorted, bool right, ValueId sorter) {
  const DType t = common_dtype(b, c, {sorted.text(), "self"});
  return {search(b, c.tensor_as(sorted, t), c.tensor_as("self", t), right,
                 c.flag("out_int32") ? DType::i32 : DType::i64, sorter)};
}

/// Histograms of points: self is [..., axes]; each axis has its edges. Points outside any axis's edges are not counted.
Values histogramdd(Builder& b, const Call& c) {
  const DType t = b.dtype(c.tensor("self"));
  const ValueId x = c.tensor("self");
  const Dim axes_dim = b.size(x, -1);
  if (!axes_dim.is_const()) c.unsupported("the number of axes must be constant");
  const std::int64_t axes = axes_dim.value();
  Dim n = 1;
  const Dims shape = b.shape(x);
  for (std::size_t i = 0; i + 1 < shape.size(); ++i) n = b.pool().mul(n, shape[i]);
  const ValueId points = b.reshape(x, {n, axes});
  const bool has_edges = c.arg("bins").kind == CallArgument::Kind::tensors;
  const std::vector<std::int64_t> counts = has_edges ? std::vector<std::int64_t>{} : c.integers("bins");
  const std::vector<double> range = has_edges ? std::vector<double>{} : c.numbers("range");
  Values edges;
  ValueId position = kNoValue, inside = kNoValue;
  Dim total = 1;
  Dims result;
  for (std::int64_t a = 0; a < axes; ++a) {
    const auto k = static_cast<std::size_t>(a);
    const ValueId line = b.select(points, 1, a);
    if (has_edges) {
      edges.push_back(c.tensors("bins").at(k));
    } else {
      std::vector<Attr> attrs = {attr(AttrKey::full, Dim(1)),
                                 attr(AttrKey::bins, counts.at(counts.size() == 1 ? 0 : k))};
      if (!range.empty()) attrs.push_back(attr_numbers(AttrKey::range, {range.at(2 * k), range.at(2 * k + 1)}));
      edges.push_back(b.add_all(Op::histogram, {line}, std::move(attrs))[1]);
    }
    const Dim bins = b.pool().sub(b.size(edges[k], 0), 1);
    const ValueId edges_below = search(b, edges[k], line, true, DType::i64);
    const ValueId low = b.select(edges[k], 0, 0), high = b.select(edges[k], 0, bins);
    const ValueId in_range =
        b.expr("x >= l && x <= h", {{"x", line}, {"l", low}, {"h", high}}, compute_type(t), DType::boolean);
    // The last bin includes its upper edge.
    const ValueId bin = b.expr("max(min(i, n) - 1, 0)", {{"i", edges_below}, size_arg(b, "n", bins)}, DType::i64);
    inside = inside == kNoValue ? in_range : b.expr("a && c", {{"a", inside}, {"c", in_range}}, DType::boolean);
    position = position == kNoValue
                   ? bin
                   : b.expr("p * n + i", {{"p", position}, {"i", bin}, size_arg(b, "n", bins)}, DType::i64);
    total = b.pool().mul(total, bins);
    result.push_back(bins);
  }
  ValueId weight = c.has_argument("weight") ? b.flatten(c.tensor("weight")) : b.full({}, 1, t);
  weight = b.expr("i ? w : 0", {{"i", inside}, {"w", weight}}, t);
  ValueId sums =
      b.add(Op::scatter, {b.full({total}, 0, t), position, weight},
            {attr(AttrKey::axis, Dim(0)), attr(AttrKey::kind, Dim(static_cast<std::int64_t>(ScatterKind::sum)))});
  sums = b.reshape(sums, result);
  if (c.flag("density")) {
    sums = b.expr("s / t", {{"s", sums}, {"t", b.reduce(sums, "sum", {}, false, t)}}, t);
    for (std::size_t k = 0; k < edges.size(); ++k) {
      const Dim bins = result[k];
      ValueId width = b.expr("r - l", {{"l", b.slice(edges[k], 0, 0, bins)}, {"r", b.slice(edges[k], 0, 1, bins)}}, t);
      Dims sizes(result.size(), 1);
      sizes[k] = bins;
      width = b.reshape(width, sizes);
      sums = b.expr("s / w", {{"s", sums}, {"w", width}}, t);
    }
  }
  Values r = {sums};
  r.insert(r.end(), edges.begin(), edges.end());
  return r;
}

Values histogramdd_counts(Builder& b, const Call& c) {
  return {histogramdd(b, c)[0]};
}
Values histogramdd_edges(Builder& b, const Call& c) {
  Values r = histogramdd(b, c);
  r.erase(r.begin());
  return r;
}

Values bincount(Builder& b, const Call& c) {
  std::vector<ValueId> inputs = {c.tensor("self")};
  if (b.dtype(inputs[0]) == DType::boolean) inputs[0] = b.cast(inputs[0], DType::u8);
  if (c.has_argument("weights")) {
    const ValueId w = c.tensor("weights");
    inputs.push_back(b.cast(w, b.dtype(w) == DType::f32 ? DType::f32 : DType::f64));
  }
  return {b.add(Op::bincount, std::move(inputs),
                {attr(AttrKey::length, c.dim("minlength")), attr(AttrKey::symbols, Dims{data_size(b, c, 0, 0)})})};
}

Values bucketize(Builder& b, const Call& c) {
  return search_call(b, c, "boundaries", c.flag("right"), kNoValue);
}
Values searchsorted(Builder& b, const Call& c) {
  const bool right = c.flag("right") || c.text_or("side", "left") == "right";
  return search_call(b, c, "sorted_sequence", right, c.tensor_or_none("sorter"));
}

Values segment_reduce(Builder& b, const Call& c) {
  const ValueId x = c.tensor("data");
  const std::int64_t axis = b.normal_axis(x, c.integer("axis"));
  ValueId offsets;
  if (c.has_argument("offsets")) {
    offsets = c.tensor("offsets");
  } else {
    ValueId lengths = b.cast(c.tensor("lengths"), DType::i64);
    Dims padding_before(static_cast<std::size_t>(b.rank(lengths)), 0), padding_after = padding_before;
    padding_before[static_cast<std::size_t>(axis)] = 1;
    offsets = b.pad(scan_along(b, lengths, ScanKind::cumsum, axis, DType::i64), padding_before, padding_after);
  }
  if (b.dtype(offsets) != DType::i32) offsets = b.cast(offsets, DType::i64);
  const int kind = scatter_kind_from_name(c.text("reduce"));
  if (kind < 1) c.unsupported("unsupported reduction '" + c.text("reduce") + "'");
  std::vector<Attr> attrs = {attr(AttrKey::kind, Dim(kind)), attr(AttrKey::axis, axis)};
  if (c.has_argument("initial")) attrs.push_back(attr_number(AttrKey::value, c.number("initial")));
  return {b.add(Op::segment_reduce, {x, offsets}, std::move(attrs))};
}

constexpr Lowering kCountingLowerings[] = {
    {"aten._unique.default", unique2},
    {"aten._unique2.default", unique2},
    {"aten.unique_dim.default", unique_dim},
    {"aten.unique_consecutive.default", unique_consecutive},
    {"aten.unique_dim_consecutive.default", unique_dim_consecutive},
    {"aten.histc.default", histc},
    {"aten.histogram.bin_ct", histogram},
    {"aten.histogram.bins_tensor", histogram},
    {"aten.histogramdd.default", histogramdd},
    {"aten.histogramdd.int_bins", histogramdd},
    {"aten.histogramdd.TensorList_bins", histogramdd},
    {"aten._histogramdd_from_bin_cts.default", histogramdd_counts},
    {"aten._histogramdd_from_bin_tensors.default", histogramdd_counts},
    {"aten._histogramdd_bin_edges.default", histogramdd_edges},
    {"aten.bincount.default", bincount},
    {"aten.bucketize.Tensor", bucketize},
    {"aten.bucketize.Scalar", bucketize},
    {"aten.searchsorted.Tensor", searchsorted},
    {"aten.searchsorted.Scalar", searchsorted},
    {"aten.segment_reduce.default", segment_reduce},
};

}  // namespace

std::span<const Lowering> counting_lowerings() {
  return kCountingLowerings;
}

}  // namespace tern
