// Convolutions: what their forms share.
#pragma once

#include <cstdint>

#include "kernels/portable/launches.h"

namespace tern::portable {

struct ConvolutionProblem {
  std::int64_t groups, in, out, elements;  ///< in and out: channels of one group; elements of a window
  bool transposed;
  std::int64_t w_in, w_out;  ///< strides of the weight: [out, in, kernel], or transposed [in, out, kernel]
};

ConvolutionProblem describe_convolution(const KernelCall& c);

/// As a product of the weight and the image, for devices with groups (products.h). `faster`: with bits of the device's
/// own. False, and nothing is added, where it does not suit: transposed, a quantized weight, few channels, or planes
/// whose places exceed 32 bits. Positions fit 32 bits.
bool add_convolution_by_groups(const KernelCall& c, Launches& list, const ConvolutionProblem& problem, bool faster);

}  // namespace tern::portable
