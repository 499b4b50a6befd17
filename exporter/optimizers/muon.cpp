// Muon, following PyTorch (torch/optim/_muon.py; Jordan et al., 2024): a Newton-Schulz iteration in bfloat16 makes a
// matrix's momentum nearly orthogonal.
#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <cmath>

#include "exporter/optimizers/list_step.h"
#include "exporter/optimizers/parts.h"

namespace tern::optimizers {
namespace {

/// c * product + b * x, rounded once as torch.addmm does.
ValueId mixed(Builder& b, ValueId x, double scale, ValueId product, double weight) {
  return b.expr("w * x + s * y", {{"w", weight}, {"x", x}, {"s", scale}, {"y", product}}, DType::f32, DType::bf16);
}

ValueId orthogonal(Builder& b, const OptimizerOptions& o, ValueId update, bool tall) {
  ValueId x = b.cast(update, DType::bf16);
  if (tall) x = b.transpose(x, 0, 1);
  const ValueId square = b.expr("x * x", {{"x", x}}, DType::f32, DType::f32);
  const ValueId sum = b.reduce(square, "sum", {0, 1}, false, DType::f32);
  const ValueId norm = b.expr("sqrt(s)", {{"s", sum}}, DType::f32, DType::bf16);
  x = b.expr("x / max(n, e)", {{"x", x}, {"n", norm}, {"e", o.eps}}, DType::f32, DType::bf16);
  for (int i = 0; i < o.ns_steps; ++i) {
    const ValueId gram = b.matmul(x, b.transpose(x, 0, 1));
    const ValueId step = mixed(b, gram, o.ns_coefficients[2], b.matmul(gram, gram), o.ns_coefficients[1]);
    x = mixed(b, x, 1, b.matmul(step, x), o.ns_coefficients[0]);
  }
  return tall ? b.transpose(x, 0, 1) : x;
}

}  // namespace

NewValues muon_step(const Step& s) {
  Builder& b = s.b;
  NewValues new_values;
  ListStep last{
      .kind = OptimKind::sgd, .hyper = {s.o.lr, 0, 0, s.o.weight_decay, 0}, .mode = kOptimDecoupled, .lists = {}};
  const std::vector<ValueId> grads = seen_gradients(s);
  for (std::size_t i = 0; i < s.params.size(); ++i) {
    const ValueId p = s.params[i], g = grads[i], old_momentum = s.states.at("momentum_buffer").at(i);
    const Dims& shape = b.shape(p);
    if (shape.size() != 2 || !shape[0].is_const() || !shape[1].is_const())
      fail(ErrorCode::invalid_argument,
           fmt::format(
               "muon: the parameter '{}' is {}, but muon only updates matrices of constant size; give the others "
               "another optimizer: --params 'ndim!=2: optimizer=adamw'",
               b.function().values[static_cast<std::size_t>(p)].name, text_of(b.type(p), b.pool())));
    const auto rows = static_cast<double>(shape[0].value()), columns = static_cast<double>(shape[1].value());
    const ValueId m =
        b.expr("m + w * (g - m)", {{"m", old_momentum}, {"w", 1 - s.o.momentum}, {"g", g}}, b.dtype(old_momentum));
    const ValueId update =
        s.o.nesterov ? b.expr("g + w * (m - g)", {{"g", g}, {"w", s.o.momentum}, {"m", m}}, b.dtype(old_momentum)) : m;
    const double ratio =
        s.o.match_rms_adamw ? 0.2 * std::sqrt(std::max(rows, columns)) : std::sqrt(std::max(1.0, rows / columns));
    const ValueId direction = orthogonal(b, s.o, update, rows > columns);
    last[OptimList::param].push_back(p);
    last[OptimList::grad].push_back(b.expr("r * u", {{"r", ratio}, {"u", direction}}, DType::f32, b.dtype(p)));
    new_values.states["momentum_buffer"].push_back(unless_infinite(s, old_momentum, m));
  }
  if (s.inputs.lr != kNoValue) last[OptimList::lr] = {s.inputs.lr};
  if (s.inputs.found_inf != kNoValue) last[OptimList::found_inf] = {s.inputs.found_inf};
  last[OptimList::master] = s.inputs.masters;
  const ListResults results = add_list_step(b, last);
  new_values.params = results[static_cast<std::size_t>(OptimList::param)];
  new_values.masters = results[static_cast<std::size_t>(OptimList::master)];
  return new_values;
}

}  // namespace tern::optimizers
