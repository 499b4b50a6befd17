// Gradients of matrix products.
#include "exporter/gradients/rule.h"

namespace tern {
namespace {

/// y = a b + bias: a gets g b^H, b gets a^H g, the bias gets g. What the leading axes broadcast is summed by give().
void matmul(GradientCall& c) {
  Builder& b = c.b;
  if (b.type(c.in(1)).quantized()) c.refuse("the weight is quantized");
  // A product in the dtype of the result: 16-bit operands can have a float32 result.
  const DType t = b.dtype(c.in(0));
  const ValueId g = b.cast(c.grad(0), t);
  const auto adjoint = [&](std::size_t i) { return c.conj(b.transpose(b.cast(c.in(i), t), -1, -2)); };
  if (c.wants(0)) c.give(0, b.matmul(g, adjoint(1)));
  if (c.wants(1)) c.give(1, b.matmul(adjoint(0), g));
  c.give(2, c.grad(0));
}

constexpr GradientEntry kRules[] = {{Op::matmul, matmul}};

}  // namespace

std::span<const GradientEntry> gradients_of_products() {
  return kRules;
}

}  // namespace tern
