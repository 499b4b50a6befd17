// Ops without a rule: their operands get no gradient, or an arriving gradient is refused.
#include "exporter/gradients/registry.h"

namespace tern {
std::span<const NoGradient> ops_without_gradient() {
  using enum NoGradient::Kind;
  static constexpr NoGradient kOps[] = {
      {Op::full, zero, "it has no operands"},
      {Op::iota, zero, "it has no operands"},
      {Op::from_dim, zero, "it has no operands"},
      {Op::nonzero, zero, "its results are positions"},
      {Op::bincount, refused, "PyTorch has none either"},
      {Op::histogram, refused, "PyTorch has none either"},
      {Op::searchsorted, zero, "its results are positions"},
      {Op::unique, refused, "PyTorch has none either"},
      {Op::nms, zero, "its results are positions"},
      {Op::item, zero, "a size has no gradient"},
      {Op::assert_dim, zero, "it has no results"},
      {Op::assert_true, zero, "it has no results"},
      {Op::while_loop, refused,
       "the number of rounds is unknown before it runs; use scan, which PyTorch differentiates"},
      {Op::custom, refused, "an operator of another library: export the joint graph from PyTorch"},
      {Op::mx_pack, refused, "quantized weights are not trained"},
      {Op::dequantize, refused, "quantized weights are not trained"},
      {Op::optim, refused, "a step of an optimizer cannot be differentiated"},
      {Op::ldl_factor, refused, "PyTorch has none either"},
      {Op::collective, refused, "gradients of several ranks are reduced after they are derived"},
      {Op::exchange, refused, "gradients of several ranks are reduced after they are derived"},
      {Op::wait, refused, "gradients of several ranks are reduced after they are derived"},
  };
  return kOps;
}

}  // namespace tern
