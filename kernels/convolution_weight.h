// A convolution's weight in the layout of its kernels.
#pragma once

#include "kernels/kernel.h"

namespace tern {

/// The weight [o, i, kernel...]; a quantized weight is a matrix with a row for each channel of the result, and the node
/// has the kernel's sizes. Strides count elements.
inline TensorView convolution_weight(const KernelCall& c) {
  TensorView w = c.in[1];
  if (w.blocks.columns == 0) return w;
  const auto spatial = static_cast<std::size_t>(c.in[0].rank - 2);
  std::int64_t kernel = 1;
  for (std::size_t i = 0; i < spatial; ++i) kernel *= w.sizes[i + 2] = c.node->integer_at(AttrKey::kernel, i);
  w.sizes[1] = c.in[1].size(1) / kernel;
  w.rank = c.in[0].rank;
  make_contiguous(w);
  return w;
}

}  // namespace tern
