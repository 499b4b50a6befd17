// Rules of convolution and transposed convolution: each is the gradient of the other.
#include "exporter/gradients/rules.h"
#include "exporter/gradients/shapes.h"
#include "exporter/gradients/sliding.h"

namespace tern {
namespace {

std::vector<std::int64_t> integers_per_axis(const Node& node, AttrKey key, std::size_t n) {
  std::vector<std::int64_t> r;
  for (std::size_t i = 0; i < n; ++i) r.push_back(node.integer_at(key, i));
  return r;
}

}  // namespace

void differentiate_convolution(GradientCall& c) {
  Builder& b = c.b;
  const ValueId g = c.grad(0), x = c.operand(0);
  const std::size_t n = b.shape(x).size() - 2;
  const Windows w{integers_per_axis(c.node, AttrKey::strides, n), integers_per_axis(c.node, AttrKey::dilations, n),
                  integers_per_axis(c.node, AttrKey::before, n), integers_per_axis(c.node, AttrKey::after, n),
                  c.node.integer(AttrKey::groups)};
  const bool transposed = c.node.integer(AttrKey::transposed) != 0;
  ValueId weight = c.operand(1);
  if (b.type(weight).quantized()) {
    Dims sizes = {b.size(weight, 0), b.pool().floordiv(b.size(x, 1), w.groups)};
    for (std::size_t i = 0; i < n; ++i) sizes.push_back(c.node.integer_at(AttrKey::kernel, i));
    weight = b.reshape(b.add(Op::dequantize, {weight}, {attr_dtype(b.dtype(x))}), sizes);
  }
  const Dims spatial(b.shape(x).begin() + 2, b.shape(x).end());
  const Dims kernel(b.shape(weight).begin() + 2, b.shape(weight).end());
  if (c.needs_gradient(0)) {
    c.add_gradient(
        0, transposed ? transposed_image_gradient(b, g, weight, w, spatial) : image_gradient(b, g, weight, w, spatial));
  }
  if (c.needs_gradient(1))
    c.add_gradient(1, transposed ? weight_gradient(b, g, x, kernel, w) : weight_gradient(b, x, g, kernel, w));
  if (c.needs_gradient(2)) c.add_gradient(2, b.reduce(g, "sum", axes_but(b, g, {1}), false, b.dtype(g)));
}

}  // namespace tern
