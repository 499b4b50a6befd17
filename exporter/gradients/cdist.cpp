// Rule of distances: d = |x - y|_p gives (x - y) |x - y|^(p - 2) / d^(p - 1), and nothing for d = 0.
#include <cmath>

#include "exporter/gradients/rules.h"
#include "exporter/gradients/shapes.h"

namespace tern {
namespace {

/// p = 2 uses products from this row count on, like PyTorch.
constexpr std::int64_t kManyRows = 25;

bool is_long(Dim rows) {
  return !rows.is_const() || rows.value() > kManyRows;
}

const char* gradient_formula(double p) {
  if (p == 1) return "sign(x - y) * g";
  if (p == 2) return "d == 0 ? 0 : g * (x - y) / d";
  if (std::isinf(p)) return "abs(x - y) == d ? sign(x - y) * g : 0";
  if (p < 1) return "z = x - y; z == 0 || d == 0 ? 0 : g * sign(z) * pow(abs(z), p - 1) * pow(d, 1 - p)";
  return "z = x - y; z == 0 || d == 0 ? 0 : g * sign(z) * pow(abs(z) / d, p - 1)";
}

}  // namespace

void differentiate_cdist(GradientCall& c) {
  Builder& b = c.b;
  const ValueId x = c.operand(0), y = c.operand(1), d = c.result(0), g = c.grad(0);
  const DType compute_dtype = compute_type(b.dtype(x));
  const double p = c.node.number(AttrKey::p);
  if (p == 0) {
    c.add_gradient(0, b.full(b.shape(x), 0, b.dtype(x)));
    return c.add_gradient(1, b.full(b.shape(y), 0, b.dtype(y)));
  }
  if (p == 2 && (is_long(b.size(x, -2)) || is_long(b.size(y, -2)))) {
    // sum_j r_ij (x_i - y_j) = x_i sum_j r_ij - (r y)_i
    const ValueId r = b.expr("d == 0 ? 0 : g / d", {{"g", g}, {"d", d}}, compute_dtype);
    const auto add_operand_gradient = [&](std::size_t i, ValueId operand, ValueId other_operand, ValueId ratio) {
      if (!c.needs_gradient(i)) return;
      const ValueId rows = b.reduce(ratio, "sum", {-1}, true, compute_dtype),
                    weighted_sum = b.matmul(ratio, b.cast(other_operand, compute_dtype));
      c.add_gradient(i, b.expr("x * r - m", {{"x", operand}, {"r", rows}, {"m", weighted_sum}}, compute_dtype));
    };
    add_operand_gradient(0, x, y, r);
    return add_operand_gradient(1, y, x, b.transpose(r, -2, -1));
  }
  const ValueId pair_gradients = b.expr(gradient_formula(p),
                                        {{"x", b.unsqueeze(x, -2)},
                                         {"y", b.unsqueeze(y, -3)},
                                         {"d", b.unsqueeze(d, -1)},
                                         {"g", b.unsqueeze(g, -1)},
                                         {"p", p}},
                                        compute_dtype);
  if (c.needs_gradient(0)) c.add_gradient(0, b.reduce(pair_gradients, "sum", {-2}, false, compute_dtype));
  if (c.needs_gradient(1))
    c.add_gradient(1,
                   b.expr("-g", {{"g", b.reduce(pair_gradients, "sum", {-3}, false, compute_dtype)}}, compute_dtype));
}

}  // namespace tern
