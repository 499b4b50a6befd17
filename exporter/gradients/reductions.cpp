// Gradients of reductions, of selections from lines, and of softmax.
#include <algorithm>

#include "exporter/gradients/instructions.h"
#include "exporter/gradients/rule.h"
#include "schema/kinds.h"

namespace tern {
namespace {

/// Axes combined by a reduction, from 0, in order.
std::vector<std::int64_t> reduced_axes(GradientCall& c) {
  std::vector<std::int64_t> axes;
  for (Dim a : c.node.dims(AttrKey::axes)) axes.push_back(c.b.normal_axis(c.operand(0), a.value()));
  std::ranges::sort(axes);
  return axes.empty() || c.b.rank(c.operand(0)) == 0 ? c.b.all_axes(c.operand(0)) : axes;
}

/// A value of the result's shape with the reduced axes again, of size 1.
ValueId restore_reduced_axes(GradientCall& c, ValueId v, const std::vector<std::int64_t>& axes) {
  Dims sizes = c.b.shape(c.operand(0));
  for (std::int64_t a : axes) sizes[static_cast<std::size_t>(a)] = 1;
  return c.b.reshape(v, sizes);
}

/// Element count combined into one result.
Dim count_of(GradientCall& c, const std::vector<std::int64_t>& axes) {
  Dim n = 1;
  for (std::int64_t a : axes) n = c.b.pool().mul(n, c.b.size(c.operand(0), a));
  return n;
}
ExprArg as_operand(Builder& b, std::string_view name, Dim d) {
  if (d.is_const()) return {name, static_cast<double>(d.value())};
  return {name, b.from_dim(d)};
}

/// Product of the other elements of each line; quotients fail for lines with zeros.
ValueId product_of_others(Builder& b, ValueId lines) {
  const std::int64_t last = b.rank(lines) - 1;
  const auto exclusive_product = [&](ValueId x) {
    const Dim remaining = b.pool().sub(b.size(x, last), 1);
    Dims edge_sizes = b.shape(x);
    edge_sizes.back() = 1;
    const ValueId products =
        b.add(Op::scan, {b.slice(x, last, 0, remaining)},
              {attr(AttrKey::kind, static_cast<std::int64_t>(ScanKind::cumprod)), attr(AttrKey::axis, last)});
    return b.concat({b.full(edge_sizes, 1, b.dtype(x)), products}, last);
  };
  const ValueId left = exclusive_product(lines), right = b.flip(exclusive_product(b.flip(lines, {last})), {last});
  return b.expr("l * r", {{"l", left}, {"r", right}}, b.dtype(lines));
}

void prod(GradientCall& c, ValueId g, const std::vector<std::int64_t>& axes) {
  Builder& b = c.b;
  const ValueId x = b.cast(c.operand(0), wider_dtype(compute_type(b.dtype(c.operand(0))), compute_type(b.dtype(g))));
  if (count_of(c, axes).is(0)) return;
  std::vector<std::int64_t> order;
  for (std::int64_t a : b.all_axes(x)) {
    if (std::ranges::find(axes, a) == axes.end()) order.push_back(a);
  }
  const std::size_t saved = order.size();
  order.insert(order.end(), axes.begin(), axes.end());
  const ValueId moved = b.permute(x, order);
  const Dims sizes = b.shape(moved);
  Dims lines(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(saved));
  lines.push_back(count_of(c, axes));
  const ValueId product_without = b.reshape(product_of_others(b, b.reshape(moved, lines)), sizes);
  std::vector<std::int64_t> inverse_order(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    inverse_order[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  const ValueId o = c.conj(b.permute(product_without, inverse_order));
  c.add_gradient(0, c.expr("isnan(x) ? x : g * o", {{"g", g}, {"o", o}, {"x", c.operand(0)}}, g));
}

/// All elements equal to the extreme share its gradient. For a NaN extreme, max() and min() give the gradient to the
/// NaN; amax and amin make the line's gradient NaN.
void extreme(GradientCall& c, ValueId g, const std::vector<std::int64_t>& axes) {
  Builder& b = c.b;
  const ValueId x = c.operand(0), y = restore_reduced_axes(c, c.result(0), axes);
  const std::string_view op = c.operator_name();
  const bool of_all = op == "aten.max.default" || op == "aten.min.default";
  const ValueId is_selected = b.expr(of_all ? "x == y || (isnan(x) && isnan(y))" : "x == y", {{"x", x}, {"y", y}},
                                     compute_type(b.dtype(x)), DType::boolean);
  const ValueId count = b.reduce(is_selected, "sum", axes, true, DType::i64);
  c.add_gradient(0, c.expr(of_all ? "s ? g / n : 0" : "s * g / n", {{"s", is_selected}, {"g", g}, {"n", count}}, g));
}

void variance(GradientCall& c, ValueId g, const std::vector<std::int64_t>& axes) {
  Builder& b = c.b;
  const ValueId x = c.operand(0);
  const DType t = compute_type(b.dtype(x));
  const ValueId mean = b.reduce(x, "mean", axes, true, t);
  const ValueId scale =
      b.expr("2 / max(0, n - k)", {as_operand(b, "n", count_of(c, axes)), {"k", c.node.number(AttrKey::correction)}},
             DType::f64);
  c.add_gradient(0, b.expr("g * scale * (x - mean)", {{"g", g}, {"scale", scale}, {"x", x}, {"mean", mean}}, t));
}

void reduce(GradientCall& c) {
  Builder& b = c.b;
  const std::vector<std::int64_t> axes = reduced_axes(c);
  const ValueId g = restore_reduced_axes(c, c.grad(0), axes);
  switch (static_cast<ReduceKind>(c.node.integer(AttrKey::kind))) {
    case ReduceKind::sum: return c.add_gradient(0, g);
    case ReduceKind::mean:
      return c.add_gradient(0, c.expr("g / n", {{"g", g}, as_operand(b, "n", count_of(c, axes))}, g));
    case ReduceKind::prod: return prod(c, g, axes);
    case ReduceKind::max:
    case ReduceKind::min: return extreme(c, g, axes);
    case ReduceKind::var: return variance(c, g, axes);
    case ReduceKind::any:
    case ReduceKind::all:
    case ReduceKind::argmax:
    case ReduceKind::argmin:
    case ReduceKind::bit_xor: return;
  }
}

/// Sends the gradient to the selected element.
void select_reduce(GradientCall& c) {
  Builder& b = c.b;
  if (c.grad(0) == kNoValue) return;
  const ValueId x = c.operand(0);
  const auto axis = static_cast<std::int64_t>(c.axis());
  Dims along(b.shape(x).size(), 1);
  along[static_cast<std::size_t>(axis)] = b.size(x, axis);
  const ValueId position = b.reshape(b.iota(b.size(x, axis), DType::i64), along);
  const ValueId is_nonzero = b.expr("i == k", {{"i", position}, {"k", restore_reduced_axes(c, c.result(1), {axis})}},
                                    DType::i64, DType::boolean);
  c.add_gradient(
      0, b.expr("t ? g : 0", {{"t", is_nonzero}, {"g", restore_reduced_axes(c, c.grad(0), {axis})}}, b.dtype(x)));
}

/// y (g - sum(g y)), and g - exp(y) sum(g) of the logarithm.
void softmax(GradientCall& c) {
  Builder& b = c.b;
  const auto axis = static_cast<std::int64_t>(c.axis());
  const ValueId g = c.grad(0), y = c.result(0);
  const DType compute_dtype = compute_type(b.dtype(y));
  const bool log = c.flag(AttrKey::log);
  const ValueId sum = b.reduce(log ? g : c.expr("g * y", {{"g", g}, {"y", y}}, y), "sum", {axis}, true, compute_dtype);
  c.add_gradient(0, b.expr(log ? "g - exp(y) * s" : "y * (g - s)", {{"g", g}, {"y", y}, {"s", sum}}, compute_dtype,
                           b.dtype(c.operand(0))));
}

constexpr GradientEntry kReductionsRules[] = {
    {Op::reduce, reduce},
    {Op::select_reduce, select_reduce},
    {Op::softmax, softmax},
};

}  // namespace

std::span<const GradientEntry> gradients_of_reductions() {
  return kReductionsRules;
}

}  // namespace tern
