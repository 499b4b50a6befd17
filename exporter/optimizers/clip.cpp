// Gradient clipping, following torch.nn.utils.
#include <cmath>
#include <limits>

#include "exporter/optimizers/step.h"

namespace tern::optimizers {

ValueId total_norm(Builder& b, const std::vector<ValueId>& tensors, double p) {
  // Norm of the norms: each tensor is read by one sum, leaving one number each.
  const bool infinite = std::isinf(p);
  const char* text = p == 2 ? "x * x" : "abs(x)";
  std::vector<ValueId> norms;
  DType t = DType::f32;
  for (ValueId v : tensors) {
    if (b.dtype(v) == DType::f64) t = DType::f64;
  }
  for (ValueId v : tensors) {
    const ValueId norm = b.reduce(b.expr(text, {{"x", v}}, t), infinite ? "max" : "sum", b.all_axes(v), false, t);
    norms.push_back(b.unsqueeze(norm, 0));
  }
  if (norms.empty()) return b.scalar(0, t);
  const ValueId joined = norms.size() == 1 ? norms[0] : b.concat(norms, 0);
  const ValueId reduced = b.reduce(joined, infinite ? "max" : "sum", {0}, false, t);
  return p == 2 ? b.expr("sqrt(s)", {{"s", reduced}}, t) : reduced;
}

std::vector<ValueId> clip_by_norm(Builder& b, const std::vector<ValueId>& grads, double max_norm, double p) {
  const ValueId norm = total_norm(b, grads, p);
  const ValueId factor = b.expr("min(1, m / (n + 1e-6))", {{"m", max_norm}, {"n", norm}}, b.dtype(norm));
  std::vector<ValueId> clipped;
  for (ValueId g : grads) clipped.push_back(b.expr("g * f", {{"g", g}, {"f", factor}}, b.dtype(g)));
  return clipped;
}

std::vector<ValueId> clip_by_value(Builder& b, const std::vector<ValueId>& grads, double limit) {
  std::vector<ValueId> clipped;
  for (ValueId g : grads) clipped.push_back(b.expr("min(max(g, -l), l)", {{"g", g}, {"l", limit}}, b.dtype(g)));
  return clipped;
}

}  // namespace tern::optimizers
