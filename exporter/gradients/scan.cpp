// The rules of scans: gradients are scans from the end.
#include "exporter/gradients/rules.h"
#include "exporter/gradients/shapes.h"
#include "schema/kinds.h"

namespace tern {
namespace {

ValueId scan(Builder& b, ValueId x, ScanKind kind, std::int64_t axis) {
  return b.add(Op::scan, {x},
               {attr(AttrKey::kind, Dim(static_cast<int>(kind))), attr(AttrKey::axis, axis), attr_dtype(b.dtype(x))});
}
ValueId from_end(Builder& b, ValueId x, ScanKind kind, std::int64_t axis) {
  return b.flip(scan(b, b.flip(x, {axis}), kind, axis), {axis});
}

/// Before a line's first zero, element i gets the sum over j >= i of g[j] y[j] / x[i]. The zero gets the sum of g[j]
/// times the product of the other factors; later elements get nothing.
ValueId product_gradient(GradientCall& c, std::int64_t axis, DType t) {
  Builder& b = c.b;
  const ValueId x = b.cast(c.operand(0), t), g = b.cast(c.grad(0), t), y = b.cast(c.result(0), t);
  const ValueId zero = b.expr("x == 0", {{"x", x}}, t, DType::boolean);
  const ValueId zeros = scan(b, b.cast(zero, DType::i64), ScanKind::cumsum, axis);
  const ValueId first = b.expr("bool(z) && n == 1", {{"z", zero}, {"n", zeros}}, DType::i64, DType::boolean);
  const ValueId product_of_nonzeros =
      scan(b, b.expr("f ? 1 : x", {{"f", first}, {"x", x}}, t), ScanKind::cumprod, axis);
  const auto summed = [&](ValueId products) {
    return from_end(b, b.expr("g * y", {{"g", g}, {"y", c.conj(products)}}, t), ScanKind::cumsum, axis);
  };
  const ValueId has_no_zero_yet = b.expr("n == 0", {{"n", zeros}}, DType::i64, DType::boolean);
  return b.expr("before ? s / x : first ? z : 0",
                {{"before", has_no_zero_yet},
                 {"first", first},
                 {"s", summed(y)},
                 {"z", summed(product_of_nonzeros)},
                 {"x", c.conj(x)}},
                t);
}

/// Element i gets the sum over j >= i of g[j] exp(x[i] - y[j]), added up as logarithms.
ValueId log_sum_gradient(GradientCall& c, std::int64_t axis, DType t) {
  Builder& b = c.b;
  const ValueId x = c.operand(0), y = c.result(0), g = c.grad(0);
  const auto sign_part = [&](const char* text) {
    const ValueId logs = b.expr(text, {{"g", g}, {"y", y}}, t);
    return b.expr("exp(x + s)", {{"x", x}, {"s", from_end(b, logs, ScanKind::logcumsumexp, axis)}}, t);
  };
  if (is_complex(t)) return c.conj(sign_part("log(conj(g)) - y"));
  return b.expr("p - n",
                {{"p", sign_part("g > 0 ? log(g) - y : -inf")}, {"n", sign_part("g < 0 ? log(-g) - y : -inf")}}, t);
}

}  // namespace

void differentiate_scan(GradientCall& c) {
  Builder& b = c.b;
  if (c.grad(0) == kNoValue) return;
  const auto axis = static_cast<std::int64_t>(c.axis());
  const DType t = compute_type(b.dtype(c.grad(0)));
  switch (static_cast<ScanKind>(c.node.integer(AttrKey::kind))) {
    case ScanKind::cumsum: return c.add_gradient(0, from_end(b, b.cast(c.grad(0), t), ScanKind::cumsum, axis));
    case ScanKind::cumprod: return c.add_gradient(0, product_gradient(c, axis, t));
    case ScanKind::cummax:
    case ScanKind::cummin:
      return c.add_gradient(0, scatter_sum(b, b.shape(c.operand(0)), axis, c.result(1), c.grad(0)));
    case ScanKind::logcumsumexp: return c.add_gradient(0, log_sum_gradient(c, axis, t));
  }
}

}  // namespace tern
