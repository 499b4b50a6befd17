// Common code of all forms of convolutions.
#pragma once

#include <cstdint>

#include "kernels/portable/launches.h"

namespace tern::portable {

struct ConvolutionChannels {
  std::int64_t groups, in, out, elements;  ///< channels of a group (in, out); elements of a window
  bool transposed;
  std::int64_t w_in, w_out;  ///< strides of the weight: [out, in, kernel], or transposed [in, out, kernel]
};

ConvolutionChannels describe_convolution(const KernelCall& c);

/// Computes a convolution as a product of the weight and the image, on devices with groups (products.h). `faster`:
/// allows device-specific bits. Returns false without adding launches for unsuitable convolutions: transposed, a
/// quantized weight, few channels, or planes with offsets above 32 bits. Positions fit 32 bits.
bool add_convolution_by_groups(const KernelCall& c, Launches& list, const ConvolutionChannels& problem, bool faster);

}  // namespace tern::portable
