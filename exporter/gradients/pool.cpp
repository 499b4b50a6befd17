// Rules of pooling and of fold: elements return to their window.
#include <optional>

#include "exporter/gradients/averages.h"
#include "exporter/gradients/rules.h"
#include "exporter/gradients/shapes.h"
#include "exporter/gradients/sliding.h"
#include "schema/window_kinds.h"

namespace tern {
namespace {

/// Adds the gradient to the elements at `indices` within the last n axes of the operand.
ValueId to_places(Builder& b, ValueId x, ValueId indices, ValueId g, std::size_t n) {
  const auto lead = static_cast<std::int64_t>(b.shape(x).size() - n);
  const Dims shape = b.shape(x);
  Dims flat(shape.begin(), shape.begin() + lead);
  flat.push_back(b.pool().product(std::span<const Dim>(shape).subspan(static_cast<std::size_t>(lead))));
  return b.reshape(scatter_sum(b, flat, lead, flatten_from(b, indices, lead), flatten_from(b, g, lead)), shape);
}

}  // namespace

void differentiate_pool(GradientCall& c) {
  Builder& b = c.b;
  if (c.grad(0) == kNoValue) return;
  const Dims kernel = c.node.dims(AttrKey::kernel);
  const std::size_t n = kernel.size();
  if (static_cast<PoolKind>(c.node.integer(AttrKey::kind)) == PoolKind::max) {
    return c.add_gradient(0, to_places(b, c.operand(0), c.result(1), c.grad(0), n));
  }
  Windows w;
  for (std::size_t i = 0; i < n; ++i) {
    w.strides.push_back(c.node.has(AttrKey::strides) ? c.node.integer_at(AttrKey::strides, i) : kernel[i].value());
    w.dilations.push_back(1);
    w.padding_before.push_back(c.node.integer_at(AttrKey::before, i));
  }
  w.padding_after = w.padding_before;
  std::optional<double> divisor;
  if (c.node.has(AttrKey::divisor)) divisor = static_cast<double>(c.node.integer(AttrKey::divisor));
  c.add_gradient(
      0, average_gradient(b, c.grad(0), b.shape(c.operand(0)), w, kernel, c.flag(AttrKey::count_pads), divisor));
}

void differentiate_adaptive_pool(GradientCall& c) {
  Builder& b = c.b;
  if (c.grad(0) == kNoValue) return;
  const ValueId x = c.operand(0);
  const std::size_t n = c.node.dims(AttrKey::sizes).size();
  if (static_cast<PoolKind>(c.node.integer(AttrKey::kind)) == PoolKind::max) {
    return c.add_gradient(0, to_places(b, x, c.result(1), c.grad(0), n));
  }
  c.add_gradient(0, adaptive_average_gradient(b, c.grad(0), b.shape(x), n));
}

void differentiate_fractional_pool(GradientCall& c) {
  if (c.grad(0) == kNoValue) return;
  c.add_gradient(0, to_places(c.b, c.operand(0), c.result(1), c.grad(0), c.node.dims(AttrKey::kernel).size()));
}

/// Each column gets the gradient of the window it was added to.
void differentiate_fold(GradientCall& c) {
  Builder& b = c.b;
  ExprPool& p = b.pool();
  const Dims kernel = c.node.dims(AttrKey::kernel);
  const std::size_t n = kernel.size();
  Dims pads = {0, 0};
  for (std::size_t i = 0; i < n; ++i) pads.push_back(c.node.integer_at(AttrKey::before, i));
  const ValueId g = b.pad(c.grad(0), pads, pads);
  const Dims shape = b.shape(g), steps = row_major(b, shape);
  Dims sizes = {shape[0], shape[1]}, strides = {steps[0], steps[1]}, counts, jumps;
  for (std::size_t i = 0; i < n; ++i) {
    const std::int64_t stride = c.node.integer_at(AttrKey::strides, i),
                       dilation = c.node.integer_at(AttrKey::dilations, i);
    const Dim reach = p.add(p.mul(dilation, p.sub(kernel[i], 1)), 1);
    counts.push_back(p.add(p.floordiv(p.sub(shape[i + 2], reach), stride), 1));
    jumps.push_back(p.mul(stride, steps[i + 2]));
    sizes.push_back(kernel[i]);
    strides.push_back(p.mul(dilation, steps[i + 2]));
  }
  sizes.insert(sizes.end(), counts.begin(), counts.end());
  strides.insert(strides.end(), jumps.begin(), jumps.end());
  c.add_gradient(0, b.reshape(b.as_strided(g, sizes, strides, 0), b.shape(c.operand(0))));
}

}  // namespace tern
