// Reductions of one node or little more: sum, mean, prod, max, min, any, all, argmax, var and the like.
#include "exporter/lower/reduction.h"

#include <algorithm>

#include "exporter/lower/movement.h"

namespace tern {

std::vector<std::int64_t> axes_arg(Builder& b, const Call& c, ValueId x, ArgumentName name) {
  std::vector<std::int64_t> axes;
  if (!c.has_argument(name) || b.rank(x) == 0) return axes;
  for (std::int64_t a : c.integers(name)) axes.push_back(b.normal_axis(x, a));
  return axes;
}

Dim count_along(Builder& b, ValueId x, const std::vector<std::int64_t>& axes) {
  if (axes.empty()) return b.numel(x);
  Dim n = 1;
  for (std::int64_t a : axes) n = b.pool().mul(n, b.size(x, a));
  return n;
}

ExprArg size_arg(Builder& b, std::string_view name, Dim d) {
  if (d.is_const()) return {name, static_cast<double>(d.value())};
  return {name, b.from_dim(d)};
}

ValueId at_least_1d(Builder& b, ValueId x) {
  return b.rank(x) == 0 ? b.reshape(x, {1}) : x;
}

std::vector<ValueId> select_along(Builder& b, ValueId x, SelectKind kind, std::int64_t axis, bool keepdims, Dim k) {
  const bool scalar = b.rank(x) == 0;
  x = at_least_1d(b, x);
  std::vector<Attr> attrs = {attr(AttrKey::kind, Dim(static_cast<std::int64_t>(kind))),
                             attr(AttrKey::axis, b.normal_axis(x, axis)),
                             attr(AttrKey::keepdims, Dim(keepdims && !scalar))};
  if (kind == SelectKind::kthvalue) attrs.push_back(attr(AttrKey::k, k));
  return b.add_all(Op::select_reduce, {x}, std::move(attrs));
}

ValueId variance(Builder& b, ValueId x, const std::vector<std::int64_t>& axes, double correction, bool keepdims,
                 DType result) {
  return b.add(
      Op::reduce, {x},
      {attr(AttrKey::kind, Dim(static_cast<std::int64_t>(ReduceKind::var))), attr(AttrKey::axes, axes),
       attr(AttrKey::keepdims, Dim(keepdims)), attr_dtype(result), attr_number(AttrKey::correction, correction)});
}

namespace {

using Values = std::vector<ValueId>;

bool keepdims(const Call& c) {
  return c.flag_or("keepdim", false);
}

/// Converts the operand to a narrower result type first, like PyTorch.
ValueId narrowed(Builder& b, ValueId x, DType result) {
  const DType source_dtype = b.dtype(x);
  const bool narrower = is_floating(source_dtype) == is_floating(result)
                            ? element_size(result) < element_size(source_dtype)
                            : !is_floating(result) && !is_complex(result);
  return source_dtype != DType::boolean && (narrower || (is_complex(source_dtype) && !is_complex(result)))
             ? b.cast(x, result)
             : x;
}

/// any and all with an empty list of axes reduce nothing, unlike sum and amax.
bool reduces_nothing(ReduceKind kind, const Call& c) {
  const bool logical = kind == ReduceKind::any || kind == ReduceKind::all;
  return logical && c.target.ends_with(".dims") && c.has_argument("dim") && c.integers("dim").empty();
}

template <ReduceKind kKind>
Values reduce(Builder& b, const Call& c) {
  ValueId x = c.tensor("self");
  const DType result = c.result_dtype();
  if (reduces_nothing(kKind, c)) return {b.expr("x != 0", {{"x", x}}, compute_type(b.dtype(x)), result)};
  if (kKind == ReduceKind::sum || kKind == ReduceKind::prod || kKind == ReduceKind::mean) x = narrowed(b, x, result);
  const bool has_axes = std::any_of(c.args.begin(), c.args.end(), [](const auto& a) { return a.first == "dim"; });
  const auto axes = has_axes ? axes_arg(b, c, x) : std::vector<std::int64_t>{};
  return {b.reduce(x, reduce_kind_name(static_cast<int>(kKind)), axes, keepdims(c), result)};
}

Values aminmax(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  const auto axes = axes_arg(b, c, x);
  const ValueId low = b.reduce(x, "min", axes, keepdims(c), b.dtype(x));
  return {low, b.reduce(x, "max", axes, keepdims(c), b.dtype(x))};
}

template <SelectKind kKind>
Values select_dim(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  const bool scalar = b.rank(x) == 0;
  Values r =
      select_along(b, x, kKind, c.integer("dim"), keepdims(c), kKind == SelectKind::kthvalue ? c.dim("k") : Dim(1));
  if (scalar) {
    for (ValueId& v : r) v = b.reshape(v, {});
  }
  return r;
}

template <SelectKind kKind>
Values select_all(Builder& b, const Call& c) {
  return {select_along(b, b.flatten(c.tensor("self")), kKind, 0, false)[0]};
}

double correction_of(const Call& c) {
  for (const auto& [name, operand] : c.args) {
    if (name == "unbiased") return c.flag("unbiased") ? 1 : 0;
  }
  return c.number_or("correction", 1);
}

struct Spread {
  ValueId x;
  std::vector<std::int64_t> axes;
};
Spread spread_of(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  const bool has_axes = std::any_of(c.args.begin(), c.args.end(), [](const auto& a) { return a.first == "dim"; });
  return {x, has_axes ? axes_arg(b, c, x) : std::vector<std::int64_t>{}};
}

ValueId deviation(Builder& b, const Call& c, const Spread& s) {
  const DType result = c.result_dtype();
  const ValueId v = variance(b, s.x, s.axes, correction_of(c), keepdims(c), compute_type(result));
  return b.expr("sqrt(v)", {{"v", v}}, result);
}
Values var(Builder& b, const Call& c) {
  const Spread s = spread_of(b, c);
  return {variance(b, s.x, s.axes, correction_of(c), keepdims(c), c.result_dtype())};
}
Values std_(Builder& b, const Call& c) {
  return {deviation(b, c, spread_of(b, c))};
}
Values var_mean(Builder& b, const Call& c) {
  const Spread s = spread_of(b, c);
  return {variance(b, s.x, s.axes, correction_of(c), keepdims(c), c.result_dtype(0)),
          b.reduce(s.x, "mean", s.axes, keepdims(c), c.result_dtype(1))};
}
Values std_mean(Builder& b, const Call& c) {
  const Spread s = spread_of(b, c);
  return {deviation(b, c, s), b.reduce(s.x, "mean", s.axes, keepdims(c), c.result_dtype(1))};
}

ValueId replace_nan(Builder& b, ValueId x) {
  return is_floating(b.dtype(x)) || is_complex(b.dtype(x)) ? b.expr("isnan(x) ? 0 : x", {{"x", x}}, b.dtype(x)) : x;
}
Values nansum(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  return {b.reduce(replace_nan(b, narrowed(b, x, c.result_dtype())), "sum", axes_arg(b, c, x), keepdims(c),
                   c.result_dtype())};
}
Values nanmean(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  const auto axes = axes_arg(b, c, x);
  const DType result = c.result_dtype(), compute_dtype = compute_type(result);
  const ValueId sum = b.reduce(replace_nan(b, x), "sum", axes, keepdims(c), compute_dtype);
  const ValueId is_counted = b.expr("!isnan(x)", {{"x", x}}, compute_dtype, DType::boolean);
  const ValueId count = b.reduce(is_counted, "sum", axes, keepdims(c), DType::i64);
  return {b.expr("s / n", {{"s", sum}, {"n", count}}, result)};
}

Values count_nonzero(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  const ValueId is_counted =
      b.dtype(x) == DType::boolean ? x : b.expr("x != 0", {{"x", x}}, compute_type(b.dtype(x)), DType::boolean);
  return {b.reduce(is_counted, "sum", axes_arg(b, c, x), false, DType::i64)};
}

/// The bits of 64-bit numbers, exclusive-ored: floating numbers as double, integers sign-extended.
Values hash_tensor(Builder& b, const Call& c) {
  if (c.integer("mode") != 0) c.unsupported("only mode 0 is supported");
  ValueId x = c.tensor("self");
  const auto axes = axes_arg(b, c, x);
  if (is_floating(b.dtype(x))) {
    x = b.add(Op::bitcast, {b.cast(x, DType::f64)}, {attr_dtype(DType::u64)});
  } else if (b.dtype(x) != DType::u64) {
    x = b.add(Op::bitcast, {b.cast(x, DType::i64)}, {attr_dtype(DType::u64)});
  }
  return {b.reduce(x, "bit_xor", axes, keepdims(c), DType::u64)};
}

Values trace(Builder& b, const Call& c) {
  return {b.reduce(diagonal(b, c.tensor("self"), 0, 0, 1), "sum", {}, false, c.result_dtype())};
}

/// Sums the axes added or widened by broadcasting from `size` to x's shape.
Values sum_to_size(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  const Dims size = c.dims("size"), shape = b.shape(x);
  const std::size_t lead = shape.size() - size.size();
  std::vector<std::int64_t> axes;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i < lead || (size[i - lead].is(1) && !shape[i].is(1))) axes.push_back(static_cast<std::int64_t>(i));
  }
  const DType result = c.result_dtype();
  if (axes.empty()) return {b.cast(x, result)};
  return {b.reshape(b.reduce(x, "sum", axes, true, result), size)};
}

constexpr Lowering kReductionLowerings[] = {
    {"aten.sum.default", reduce<ReduceKind::sum>},
    {"aten.sum.dim_IntList", reduce<ReduceKind::sum>},
    {"aten.mean.default", reduce<ReduceKind::mean>},
    {"aten.mean.dim", reduce<ReduceKind::mean>},
    {"aten.prod.default", reduce<ReduceKind::prod>},
    {"aten.prod.dim_int", reduce<ReduceKind::prod>},
    {"aten.amax.default", reduce<ReduceKind::max>},
    {"aten.amin.default", reduce<ReduceKind::min>},
    {"aten.max.default", reduce<ReduceKind::max>},
    {"aten.min.default", reduce<ReduceKind::min>},
    {"aten.any.default", reduce<ReduceKind::any>},
    {"aten.any.dim", reduce<ReduceKind::any>},
    {"aten.any.dims", reduce<ReduceKind::any>},
    {"aten.all.default", reduce<ReduceKind::all>},
    {"aten.all.dim", reduce<ReduceKind::all>},
    {"aten.all.dims", reduce<ReduceKind::all>},
    {"aten._is_all_true.default", reduce<ReduceKind::all>},
    {"aten._is_any_true.default", reduce<ReduceKind::any>},
    {"aten.argmax.default", reduce<ReduceKind::argmax>},
    {"aten.argmin.default", reduce<ReduceKind::argmin>},
    {"aten.aminmax.default", aminmax},
    {"aten._aminmax.default", aminmax},
    {"aten._aminmax.dim", aminmax},
    {"aten.max.dim", select_dim<SelectKind::max>},
    {"aten.min.dim", select_dim<SelectKind::min>},
    {"aten.median.default", select_all<SelectKind::median>},
    {"aten.median.dim", select_dim<SelectKind::median>},
    {"aten.nanmedian.default", select_all<SelectKind::nanmedian>},
    {"aten.nanmedian.dim", select_dim<SelectKind::nanmedian>},
    {"aten.mode.default", select_dim<SelectKind::mode>},
    {"aten.kthvalue.default", select_dim<SelectKind::kthvalue>},
    {"aten.var.default", var},
    {"aten.var.dim", var},
    {"aten.var.correction", var},
    {"aten.std.default", std_},
    {"aten.std.dim", std_},
    {"aten.std.correction", std_},
    {"aten.var_mean.default", var_mean},
    {"aten.var_mean.dim", var_mean},
    {"aten.var_mean.correction", var_mean},
    {"aten.std_mean.default", std_mean},
    {"aten.std_mean.dim", std_mean},
    {"aten.std_mean.correction", std_mean},
    {"aten.nansum.default", nansum},
    {"aten.nanmean.default", nanmean},
    {"aten.count_nonzero.default", count_nonzero},
    {"aten.count_nonzero.dim_IntList", count_nonzero},
    {"aten.hash_tensor.default", hash_tensor},
    {"aten.trace.default", trace},
    {"aten.sum_to_size.default", sum_to_size},
};

}  // namespace

std::span<const Lowering> plain_reduction_lowerings() {
  return kReductionLowerings;
}

std::span<const Lowering> reduction_lowerings() {
  static const std::vector<Lowering> lowerings = [] {
    std::vector<Lowering> v;
    for (auto table :
         {plain_reduction_lowerings(), norm_lowerings(), order_lowerings(), scan_lowerings(), counting_lowerings()}) {
      v.insert(v.end(), table.begin(), table.end());
    }
    return v;
  }();
  return lowerings;
}

}  // namespace tern
