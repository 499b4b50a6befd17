// Cumulative sums and products, differences, integrals and gradients.
#include "exporter/lower/reduction.h"

namespace tern {

ValueId scan_along(Builder& b, ValueId x, ScanKind kind, std::int64_t axis, DType result) {
  const Dims shape = b.shape(x);
  const ValueId line = at_least_1d(b, x);
  const ValueId y = b.add(Op::scan, {line},
                          {attr(AttrKey::kind, Dim(static_cast<std::int64_t>(kind))),
                           attr(AttrKey::axis, b.normal_axis(line, axis)), attr_dtype(result)});
  return b.reshape(y, shape);
}

namespace {

using Values = std::vector<ValueId>;

Values cumsum(Builder& b, const Call& c) {
  return {scan_along(b, c.tensor("self"), ScanKind::cumsum, c.integer("dim"), c.result_dtype())};
}
Values cumprod(Builder& b, const Call& c) {
  return {scan_along(b, c.tensor("self"), ScanKind::cumprod, c.integer("dim"), c.result_dtype())};
}
Values logcumsumexp(Builder& b, const Call& c) {
  const ValueId x = b.cast(c.tensor("self"), c.result_dtype());
  return {scan_along(b, x, ScanKind::logcumsumexp, c.integer("dim"), c.result_dtype())};
}

template <ScanKind kKind>
Values cumulative_extremum(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  const Dims shape = b.shape(x);
  const ValueId line = at_least_1d(b, x);
  Values r = b.add_all(Op::scan, {line},
                       {attr(AttrKey::kind, Dim(static_cast<std::int64_t>(kKind))),
                        attr(AttrKey::axis, b.normal_axis(line, c.integer("dim"))), attr_dtype(b.dtype(x))});
  for (ValueId& v : r) v = b.reshape(v, shape);
  return r;
}

/// All but the last, and all but the first, along an axis.
ValueId drop_last(Builder& b, ValueId x, std::int64_t axis) {
  return b.slice(x, axis, 0, b.pool().sub(b.size(x, axis), 1));
}
ValueId drop_first(Builder& b, ValueId x, std::int64_t axis) {
  return b.slice(x, axis, 1, b.pool().sub(b.size(x, axis), 1));
}

Values diff(Builder& b, const Call& c) {
  ValueId x = c.tensor("self");
  const std::int64_t axis = b.normal_axis(x, c.integer("dim"));
  const DType t = c.result_dtype();
  x = b.cast(x, t);
  if (c.integer("n") == 0) return {x};
  if (c.has_argument("prepend") || c.has_argument("append")) {
    Values operands;
    if (c.has_argument("prepend")) operands.push_back(b.cast(c.tensor("prepend"), t));
    operands.push_back(x);
    if (c.has_argument("append")) operands.push_back(b.cast(c.tensor("append"), t));
    x = b.concat(operands, axis);
  }
  for (std::int64_t n = c.integer("n"); n > 0; --n) {
    if (b.size(x, axis).is(0)) break;
    x = b.expr(t == DType::boolean ? "a ^ b" : "b - a", {{"a", drop_last(b, x, axis)}, {"b", drop_first(b, x, axis)}},
               t);
  }
  return {x};
}

/// Distances between sample points, broadcast like PyTorch's, or the number dx.
ExprArg spacing(Builder& b, const Call& c, ValueId y, std::int64_t axis) {
  bool has_x = false;
  for (const auto& [name, operand] : c.args) has_x = has_x || name == "x";
  if (!has_x) {
    const CallArgument& dx = c.arg("dx");
    return {"d",
            std::complex<double>(dx.kind == CallArgument::Kind::complex ? dx.number : c.number("dx"), dx.imaginary)};
  }
  ValueId x = c.tensor("x");
  const int rank = b.rank(y);
  if (b.rank(x) == 1) {
    Dims sizes(static_cast<std::size_t>(rank), 1);
    sizes[static_cast<std::size_t>(axis)] = b.size(x, 0);
    x = b.reshape(x, sizes);
  } else {
    while (b.rank(x) < rank) x = b.unsqueeze(x, 0);
  }
  return {"d", b.expr("r - l", {{"l", drop_last(b, x, axis)}, {"r", drop_first(b, x, axis)}}, b.dtype(x))};
}

/// Twice the areas of the trapezoids.
ValueId double_trapezoids(Builder& b, const Call& c, ValueId y, std::int64_t axis, DType t) {
  const ExprArg d = spacing(b, c, y, axis);
  const DType source_dtype = b.dtype(y), steps = d.value == kNoValue ? source_dtype : b.dtype(d.value);
  const ValueId l = drop_last(b, y, axis), r = drop_first(b, y, axis);
  const DType common = promote(source_dtype, steps);
  const bool is_full = !is_floating(common) && !is_complex(common);
  if (is_full) {
    // Integers keep integer sums, and products with integers, and wrap.
    const ValueId sum = b.expr("l + r", {{"l", l}, {"r", r}}, source_dtype);
    const bool is_product_full = d.value != kNoValue || c.arg("dx").kind == CallArgument::Kind::integer;
    return b.expr("s * d", {{"s", sum}, d}, is_product_full ? common : compute_type(t));
  }
  return b.expr("(l + r) * d", {{"l", l}, {"r", r}, d}, compute_type(t));
}
DType sum_type(DType t) {
  return is_floating(t) || is_complex(t) ? t : DType::i64;
}

Values trapezoid(Builder& b, const Call& c) {
  const ValueId y = c.tensor("y");
  const std::int64_t axis = b.normal_axis(y, c.integer("dim"));
  const DType t = c.result_dtype();
  if (b.size(y, axis).is(0)) return {b.cast(b.reduce(y, "sum", {axis}, false, b.dtype(y)), t)};
  if (!c.has_argument("x")) {
    // PyTorch subtracts half of the ends from the sum; each step has its type.
    const DType source_dtype = b.dtype(y), total = sum_type(source_dtype);
    const ValueId first = b.select(y, axis, 0), last = b.select(y, axis, b.pool().sub(b.size(y, axis), 1));
    const ValueId end_sum = b.expr("l + r", {{"l", first}, {"r", last}}, source_dtype),
                  sum = b.reduce(y, "sum", {axis}, false, total);
    const ValueId inner = b.expr("s - e", {{"s", b.cast(sum, t)}, {"e", b.expr("e * 0.5", {{"e", end_sum}}, t)}}, t);
    return {b.expr("s * d", {{"s", inner}, {"d", c.number("dx")}}, t)};
  }
  const ValueId areas = double_trapezoids(b, c, y, axis, t);
  const ValueId sum = b.reduce(areas, "sum", {axis}, false, sum_type(b.dtype(areas)));
  return {b.expr("s / 2", {{"s", sum}}, t)};
}
Values cumulative_trapezoid(Builder& b, const Call& c) {
  const ValueId y = c.tensor("y");
  const std::int64_t axis = b.normal_axis(y, c.integer("dim"));
  const ValueId areas = double_trapezoids(b, c, y, axis, c.result_dtype());
  const ValueId sums = scan_along(b, areas, ScanKind::cumsum, axis, sum_type(b.dtype(areas)));
  return {b.expr("s / 2", {{"s", sums}}, c.result_dtype())};
}

/// The part start, start + 1, .. end - 1 along an axis; both count from the end when negative, and end 0 is the end.
ValueId axis_range(Builder& b, ValueId x, std::int64_t axis, std::int64_t start, std::int64_t end) {
  const Dim n = b.size(x, axis);
  const Dim source_dtype = start < 0 ? b.pool().add(n, start) : Dim(start),
            to = end <= 0 ? b.pool().add(n, end) : Dim(end);
  return b.slice(x, axis, source_dtype, b.pool().sub(to, source_dtype));
}

/// Second-order differences inside, first- or second-order differences at the ends; `h` is the spacing.
ValueId even_gradient(Builder& b, ValueId x, std::int64_t axis, double h, int order) {
  const DType t = b.dtype(x);
  const auto range = [&](std::int64_t start, std::int64_t end) { return axis_range(b, x, axis, start, end); };
  const ValueId inside = b.expr("(r - l) / (2 * h)", {{"l", range(0, -2)}, {"r", range(2, 0)}, {"h", h}}, t);
  if (order == 1) {
    const auto edge = [&](std::int64_t i) {
      return b.expr("(r - l) / h", {{"l", range(i, i + 1)}, {"r", range(i + 1, i + 2)}, {"h", h}}, t);
    };
    return b.concat({edge(0), inside, edge(-2)}, axis);
  }
  const ValueId first = b.expr("(-3 * x0 + 4 * x1 - x2) / (2 * h)",
                               {{"x0", range(0, 1)}, {"x1", range(1, 2)}, {"x2", range(2, 3)}, {"h", h}}, t);
  const ValueId last = b.expr("(3 * x0 - 4 * x1 + x2) / (2 * h)",
                              {{"x0", range(-1, 0)}, {"x1", range(-2, -1)}, {"x2", range(-3, -2)}, {"h", h}}, t);
  return b.concat({first, inside, last}, axis);
}

/// Differences for points at the coordinates of a list.
ValueId uneven_gradient(Builder& b, ValueId x, std::int64_t axis, ValueId coordinates, int order) {
  const DType t = b.dtype(x);
  Dims sizes(static_cast<std::size_t>(b.rank(x)), 1);
  sizes[static_cast<std::size_t>(axis)] = b.size(coordinates, 0);
  const ValueId position = b.reshape(coordinates, sizes);
  const ValueId h = b.expr("r - l", {{"l", drop_last(b, position, axis)}, {"r", drop_first(b, position, axis)}}, t);
  const auto range = [&](std::int64_t start, std::int64_t end) { return axis_range(b, x, axis, start, end); };
  const auto gap = [&](std::int64_t start, std::int64_t end) { return axis_range(b, h, axis, start, end); };
  const ValueId inside =
      b.expr("-d / (c * (c + d)) * l + (d - c) / (c * d) * m + c / (d * (c + d)) * r",
             {{"c", gap(0, -1)}, {"d", gap(1, 0)}, {"l", range(0, -2)}, {"m", range(1, -1)}, {"r", range(2, 0)}}, t);
  if (order == 1) {
    const auto edge = [&](std::int64_t i) {
      const std::int64_t g = i < 0 ? -1 : 0;
      return b.expr("(r - l) / h", {{"l", range(i, i + 1)}, {"r", range(i + 1, i + 2)}, {"h", gap(g, g + 1)}}, t);
    };
    return b.concat({edge(0), inside, edge(-2)}, axis);
  }
  const ValueId first =
      b.expr("-(2 * c + d) / (c * (c + d)) * x0 + (c + d) / (c * d) * x1 - c / (d * (c + d)) * x2",
             {{"c", gap(0, 1)}, {"d", gap(1, 2)}, {"x0", range(0, 1)}, {"x1", range(1, 2)}, {"x2", range(2, 3)}}, t);
  const ValueId last = b.expr(
      "d / (c * (c + d)) * x2 - (c + d) / (c * d) * x1 + (2 * d + c) / (d * (c + d)) * x0",
      {{"c", gap(-2, -1)}, {"d", gap(-1, 0)}, {"x0", range(-1, 0)}, {"x1", range(-2, -1)}, {"x2", range(-3, -2)}}, t);
  return b.concat({first, inside, last}, axis);
}

Values gradient(Builder& b, const Call& c) {
  const ValueId x = b.cast(c.tensor("self"), c.result_dtype());
  std::vector<std::int64_t> axes = axes_arg(b, c, x);
  if (axes.empty()) axes = b.all_axes(x);
  const int order = static_cast<int>(c.integer("edge_order"));
  bool has_spacing = false;
  for (const auto& [name, operand] : c.args)
    has_spacing = has_spacing || (name == "spacing" && operand.kind != CallArgument::Kind::none);
  Values r;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (has_spacing && c.arg("spacing").kind == CallArgument::Kind::tensors) {
      r.push_back(uneven_gradient(b, x, axes[i], c.tensors("spacing").at(i), order));
      continue;
    }
    const std::vector<double> h = has_spacing ? c.numbers("spacing") : std::vector<double>{1};
    r.push_back(even_gradient(b, x, axes[i], h.at(h.size() == 1 ? 0 : i), order));
  }
  return r;
}

constexpr Lowering kScanLowerings[] = {
    {"aten.cumsum.default", cumsum},
    {"aten.cumprod.default", cumprod},
    {"aten.logcumsumexp.default", logcumsumexp},
    {"aten._logcumsumexp.default", logcumsumexp},
    {"aten.cummax.default", cumulative_extremum<ScanKind::cummax>},
    {"aten.cummin.default", cumulative_extremum<ScanKind::cummin>},
    {"aten.diff.default", diff},
    {"aten.trapezoid.x", trapezoid},
    {"aten.trapezoid.dx", trapezoid},
    {"aten.trapz.x", trapezoid},
    {"aten.trapz.dx", trapezoid},
    {"aten.cumulative_trapezoid.x", cumulative_trapezoid},
    {"aten.cumulative_trapezoid.dx", cumulative_trapezoid},
    {"aten.gradient.scalarint", gradient},
    {"aten.gradient.scalararray", gradient},
    {"aten.gradient.array", gradient},
    {"aten.gradient.scalarrayint", gradient},
    {"aten.gradient.scalarrayarray", gradient},
    {"aten.gradient.tensorarrayint", gradient},
    {"aten.gradient.tensorarray", gradient},
};

}  // namespace

std::span<const Lowering> scan_lowerings() {
  return kScanLowerings;
}

}  // namespace tern
