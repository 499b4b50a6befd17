// Adafactor, following PyTorch (torch/optim/_adafactor.py; Shazeer and Stern, 2018): a matrix's second moment is stored
// as row and column sums.
#include <cmath>

#include "exporter/optimizers/parts.h"

namespace tern::optimizers {
namespace {

/// Sum dtype of `t`.
DType wide_dtype(DType t) {
  return t == DType::f64 ? DType::f64 : DType::f32;
}

ValueId norm_over_root(Builder& b, ValueId x) {
  const DType t = wide_dtype(b.dtype(x));
  const ValueId square = b.expr("x * x", {{"x", x}}, t);
  const ValueId sum = b.reduce(square, "sum", b.all_axes(x), false, t);
  return b.expr("sqrt(s / n)", {{"s", sum}, {"n", b.cast(b.from_dim(b.numel(x)), t)}}, t);
}

/// The mean square along an axis, mixed into `old_estimate`.
ValueId mean_square(Builder& b, ValueId g, ValueId old_estimate, std::int64_t axis, ValueId weight) {
  const DType t = wide_dtype(b.dtype(g));
  const ValueId square = b.expr("x * x", {{"x", g}}, t);
  const ValueId sum = b.reduce(square, "sum", {axis}, true, t);
  return b.expr("v + w * (s / n - v)",
                {{"v", old_estimate}, {"w", weight}, {"s", sum}, {"n", b.cast(b.from_dim(b.size(g, axis)), t)}}, t,
                b.dtype(old_estimate));
}

}  // namespace

NewValues adafactor_step(const Step& s) {
  Builder& b = s.b;
  NewValues new_values;
  const std::vector<ValueId> grads = seen_gradients(s);
  const ValueId old_step = s.states.at("step").at(0);
  const ValueId step = b.expr("s + 1", {{"s", old_step}}, b.dtype(old_step));
  new_values.states["step"] = {unless_infinite(s, old_step, step)};
  std::size_t matrix_index = 0, vector_index = 0;
  for (std::size_t i = 0; i < s.params.size(); ++i) {
    const ValueId p = s.params[i], g = grads[i];
    const DType t = wide_dtype(b.dtype(p));
    const ValueId lr = rate(s, t);
    const double eps_square = s.o.eps_square >= 0        ? s.o.eps_square
                              : b.dtype(p) == DType::f64 ? 0x1p-52
                              : b.dtype(p) == DType::f32 ? 0x1p-23
                              : b.dtype(p) == DType::f16 ? 0x1p-10
                                                         : 0x1p-7;
    const ValueId weight = b.expr("pow(s, d)", {{"s", step}, {"d", s.o.beta2_decay}}, t);
    const ValueId rho = b.expr("min(lr, 1 / sqrt(s))", {{"lr", lr}, {"s", step}}, t);
    const ValueId alpha = b.expr("max(e, n) * r", {{"e", s.o.eps}, {"n", norm_over_root(b, p)}, {"r", rho}}, t);
    ValueId estimate = kNoValue;
    if (b.rank(p) > 1) {
      const ValueId old_rows = s.states.at("row_var").at(matrix_index),
                    old_columns = s.states.at("col_var").at(matrix_index);
      ++matrix_index;
      const ValueId rows = mean_square(b, g, old_rows, -1, weight),
                    columns = mean_square(b, g, old_columns, -2, weight);
      new_values.states["row_var"].push_back(unless_infinite(s, old_rows, rows));
      new_values.states["col_var"].push_back(unless_infinite(s, old_columns, columns));
      const ValueId mean = b.reduce(rows, "mean", {-2}, true, b.dtype(rows));
      estimate = b.expr("r * c / max(m, e)", {{"r", rows}, {"c", columns}, {"m", mean}, {"e", eps_square}}, t);
    } else {
      const ValueId old_estimate = s.states.at("variance").at(vector_index++);
      estimate =
          b.expr("v + w * (g * g - v)", {{"v", old_estimate}, {"w", weight}, {"g", g}}, t, b.dtype(old_estimate));
      new_values.states["variance"].push_back(unless_infinite(s, old_estimate, estimate));
    }
    const ValueId update =
        b.expr("g / sqrt(max(v, e))", {{"g", g}, {"v", estimate}, {"e", eps_square * eps_square}}, t);
    const ValueId size = b.expr("a / max(1, n / d)", {{"a", alpha}, {"n", norm_over_root(b, update)}, {"d", s.o.d}}, t);
    const ValueId moved =
        b.expr("p * (1 - lr * w) - a * u", {{"p", p}, {"lr", lr}, {"w", s.o.weight_decay}, {"a", size}, {"u", update}},
               t, b.dtype(p));
    new_values.params.push_back(unless_infinite(s, p, moved));
  }
  return new_values;
}

}  // namespace tern::optimizers
