// Direct float convolutions with few input channels per output: depthwise layers, and the first layer of a network. The
// padded input stays in the first caches, weights are read in place.
#pragma once

#include <functional>

#include "kernels/cpu/windows/window.h"

namespace tern::planes {

struct DirectConvolution {
  cpu::Window window;
  std::int64_t batch = 1, groups = 1, in = 1, out = 1;  ///< channels of a group: in and out
};

/// True if `convolve` takes the convolution: so few products per result that a single read of the input counts; three
/// dimensions only with one input channel.
bool is_direct(const DirectConvolution& c);

/// Called for final elements [begin, begin + count) of y by the thread that computed them, while still cached.
using Finished = std::function<void(std::int64_t begin, std::int64_t count)>;

/// Computes y [batch, groups * out, ...] = weight [groups * out, in, ...] times the windows of x, plus bias [groups *
/// out], or null. `finished` may be empty. Uses several threads; the bits do not depend on their number.
void convolve(const DirectConvolution& c, const float* x, const float* weight, const float* bias, float* y,
              const Finished& finished);

}  // namespace tern::planes
