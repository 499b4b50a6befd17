// Gradients of sampling.
#include "exporter/gradients/rules.h"

namespace tern {
namespace {

void give_resized(GradientCall& c, Op op) {
  Builder& b = c.b;
  const Dims shape = b.shape(c.operand(0));
  Node n = c.node;
  n.op = op;
  n.inputs = {c.grad(0)};
  n.outputs.clear();
  n.set(AttrKey::sizes, Dims(shape.begin() + 2, shape.end()));
  c.add_gradient(0, b.add(std::move(n)).front());
}

/// Resize and its gradient are linear, each the adjoint of the other.
void resize(GradientCall& c) {
  give_resized(c, Op::resize_gradient);
}
void resize_gradient(GradientCall& c) {
  give_resized(c, Op::resize);
}

constexpr GradientEntry kSamplingRules[] = {
    {Op::resize, resize},
    {Op::resize_gradient, resize_gradient},
    {Op::grid_sample, differentiate_grid_sample},
    {Op::roi_align, differentiate_roi_align},
};

}  // namespace

std::span<const GradientEntry> gradients_of_sampling() {
  return kSamplingRules;
}

}  // namespace tern
