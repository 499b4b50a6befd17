// Lowerings of ordering ops: sort, topk, quantiles.
#include "exporter/lower/reduction.h"

namespace tern {

std::vector<ValueId> sort_along(Builder& b, ValueId x, std::int64_t axis, bool descending, bool stable) {
  const bool scalar = b.rank(x) == 0;
  const ValueId line = at_least_1d(b, x);
  std::vector<ValueId> r = b.add_all(Op::sort, {line},
                                     {attr(AttrKey::axis, b.normal_axis(line, axis)),
                                      attr(AttrKey::descending, Dim(descending)), attr(AttrKey::stable, Dim(stable))});
  if (scalar) {
    for (ValueId& v : r) v = b.reshape(v, {});
  }
  return r;
}

namespace {

using Values = std::vector<ValueId>;

Values sort(Builder& b, const Call& c) {
  return sort_along(b, c.tensor("self"), c.integer("dim"), c.flag("descending"), false);
}
Values sort_stable(Builder& b, const Call& c) {
  return sort_along(b, c.tensor("self"), c.integer("dim"), c.flag("descending"), c.flag_or("stable", false));
}
Values argsort(Builder& b, const Call& c) {
  return {sort(b, c)[1]};
}
Values argsort_stable(Builder& b, const Call& c) {
  return {sort_stable(b, c)[1]};
}
Values msort(Builder& b, const Call& c) {
  return {sort_along(b, c.tensor("self"), 0, false, false)[0]};
}

Values topk(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  const bool scalar = b.rank(x) == 0;
  const ValueId line = at_least_1d(b, x);
  Values r = b.add_all(Op::topk, {line},
                       {attr(AttrKey::axis, b.normal_axis(line, c.integer("dim"))), attr(AttrKey::k, c.dim("k")),
                        attr(AttrKey::largest, Dim(c.flag("largest")))});
  if (scalar) {
    for (ValueId& v : r) v = b.reshape(v, {});
  }
  return r;
}

/// Element at rank q * (n - 1) of each sorted line; `interpolation` combines its two neighbours. A NaN makes its line
/// NaN or is ignored.
Values quantile(Builder& b, const Call& c, bool ignore_nan) {
  ValueId x = c.tensor("self");
  const DType t = b.dtype(x), compute_dtype = compute_type(t);
  const bool keepdims = c.flag("keepdim"), is_full = !c.has_argument("dim");
  const int rank = b.rank(x);
  const std::int64_t dim = is_full ? 0 : b.normal_axis(x, c.integer("dim"));
  x = is_full || rank == 0 ? b.flatten(x) : b.move_axis(x, dim, -1);
  ValueId q = c.is_tensor("q") ? c.tensor("q") : b.scalar(c.number("q"), t);
  const bool list = b.rank(q) > 0;
  q = b.reshape(q, {b.numel(q)});
  const ValueId sorted = sort_along(b, x, -1, false, false)[0];
  const Dim n = b.size(sorted, -1);

  ValueId ranks;
  if (ignore_nan) {
    const ValueId is_number = b.expr("!isnan(x)", {{"x", sorted}}, compute_dtype, DType::boolean);
    const ValueId count = b.reduce(is_number, "sum", {-1}, true, DType::i64);
    ranks = b.expr("max(q * (n - 1), 0)", {{"q", q}, {"n", count}}, compute_dtype, compute_dtype);
  } else {
    const ValueId last = b.slice(sorted, -1, b.pool().sub(n, 1), 1);
    ranks = b.expr("isnan(x) ? n - 1 : q * (n - 1)", {{"x", last}, {"q", q}, size_arg(b, "n", n)}, compute_dtype,
                   compute_dtype);
  }
  const std::string interpolation = c.text("interpolation");
  const auto value_at = [&](std::string_view text) {
    return b.gather(sorted, b.expr(text, {{"r", ranks}}, compute_dtype, DType::i64), -1);
  };
  ValueId y;
  if (interpolation == "lower") {
    y = value_at("floor(r)");
  } else if (interpolation == "higher") {
    y = value_at("ceil(r)");
  } else if (interpolation == "nearest") {
    y = value_at("round(r)");
  } else {
    const ValueId low = value_at("floor(r)"), high = value_at("ceil(r)");
    // at::lerp starts from the nearer end.
    y = b.expr(interpolation == "midpoint" ? "h - (h - l) * 0.5"
                                           : "w = r - floor(r); w < 0.5 ? l + w * (h - l) : h - (h - l) * (1 - w)",
               {{"l", low}, {"h", high}, {"r", ranks}}, compute_dtype, t);
  }
  // The axis of q goes to the front; keepdim restores the axis of x.
  if (is_full || rank == 0) {
    Dims shape(static_cast<std::size_t>(keepdims ? rank : 0), 1);
    if (list) shape.insert(shape.begin(), b.numel(q));
    return {b.reshape(y, shape)};
  }
  if (keepdims) y = b.unsqueeze(y, dim);  // before the axis of q, the last one
  y = list ? b.move_axis(y, -1, 0) : b.squeeze(y, -1);
  return {y};
}
Values quantile_plain(Builder& b, const Call& c) {
  return quantile(b, c, false);
}
Values nanquantile(Builder& b, const Call& c) {
  return quantile(b, c, true);
}

constexpr Lowering kOrderLowerings[] = {
    {"aten.sort.default", sort},
    {"aten.sort.stable", sort_stable},
    {"aten.argsort.default", argsort},
    {"aten.argsort.stable", argsort_stable},
    {"aten.msort.default", msort},
    {"aten.topk.default", topk},
    {"aten.quantile.default", quantile_plain},
    {"aten.quantile.scalar", quantile_plain},
    {"aten.nanquantile.default", nanquantile},
    {"aten.nanquantile.scalar", nanquantile},
};

}  // namespace

std::span<const Lowering> order_lowerings() {
  return kOrderLowerings;
}

}  // namespace tern
