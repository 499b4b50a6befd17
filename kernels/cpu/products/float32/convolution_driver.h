// A float convolution as a matrix product whose second operand, the columns of the windows, is made a block at a time
// as the product packs it (implicit im2col). Weights are read where they lie: nothing is packed ahead.
#pragma once

#include "kernels/cpu/windows/window.h"

namespace tern {

struct FloatConvolution {
  cpu::Window window;
  std::int64_t in = 0, out = 0;  ///< channels
};

/// y [out, window's out] += weight [out, in * window's kernel] by the windows of x [in, window's in], all contiguous.
/// Sums over at most 256 products are added to y one after the other, so that errors stay small for many channels. On
/// several threads, unless called from a parallel region; the bits do not depend on their number.
void convolve(const FloatConvolution& c, const float* x, const float* weight, float* y);

}  // namespace tern
