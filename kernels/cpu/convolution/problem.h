// Sizes and window of a convolution node.
#pragma once

#include <utility>

#include "kernels/convolution_weight.h"
#include "kernels/cpu/windows/window.h"
#include "kernels/kernel.h"

namespace tern::cpu {

struct ConvolutionProblem {
  std::int64_t batch, groups, in, out;  ///< channels of a group: in and out
  bool transposed;
  Window window;          ///< forward window: `in` counts x, or y if transposed
  std::int64_t fill = 0;  ///< value of the padding
};

inline ConvolutionProblem describe_convolution(const KernelCall& c) {
  const Node& node = *c.node;
  const TensorView &x = c.in[0], &y = c.out[0];
  const TensorView w = convolution_weight(c);
  ConvolutionProblem p{x.size(0), node.integer(AttrKey::groups), 0, 0, node.integer(AttrKey::transposed) != 0,
                       {},        node.integer(AttrKey::fill)};
  p.in = x.size(1) / p.groups;
  p.out = y.size(1) / p.groups;
  const auto n = static_cast<std::size_t>(x.rank - 2);
  for (std::size_t i = 0; i < n; ++i) {
    const int axis = static_cast<int>(i) + 2;
    WindowAxis a{x.size(axis), y.size(axis), w.size(axis)};
    if (p.transposed) std::swap(a.in, a.out);
    a.stride = node.integer_at(AttrKey::strides, i);
    a.dilation = node.integer_at(AttrKey::dilations, i);
    a.padding_before = node.integer_at(AttrKey::before, i);
    p.window[3 - n + i] = a;
  }
  return p;
}

}  // namespace tern::cpu
