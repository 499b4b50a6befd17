// Depthwise convolutions of images of 8-bit integers whose channels lie side by side: lines become floats, whose
// products and sums are exact, a few at a time.
#pragma once

#include "kernels/cpu/products/int8/convolution_driver.h"

namespace tern::int8 {

/// True if sums of such integers are exact in float32, and channels fill a register.
bool suits_depthwise(const ConvolutionShape& shape);

struct DepthwiseOperands {
  const std::byte *x = nullptr, *weight = nullptr;  ///< weight [channels, 1, height, width] as exported
  const std::int32_t* bias = nullptr;               ///< [channels], or null
  std::byte* y = nullptr;
  bool stores_sums = false;  ///< y is int32; otherwise float32,
  bool bytes = false;        ///< or 8-bit integers, which `finish` stores
  pointwise::BoundEpilogue finish;
};

/// Runs on several threads.
void convolve_depthwise(const ConvolutionShape& shape, const DepthwiseOperands& o);

}  // namespace tern::int8
