// Direct float convolutions with few input channels for each output: depthwise ones, and the first layer of a network.
// The padded input lies in the first caches, weights are read where they lie.
#pragma once

#include <functional>

#include "kernels/cpu/windows/window.h"

namespace tern::planes {

struct DirectConvolution {
  cpu::Window window;
  std::int64_t batch = 1, groups = 1, in = 1, out = 1;  ///< in and out: channels of one group
};

/// That `convolve` takes it: few enough products for each result that reading the input once counts; three dimensions
/// only with one input channel.
bool is_direct(const DirectConvolution& c);

/// Called for elements [begin, begin + count) of y, which are final and still in a cache, by the thread that made them.
using Finished = std::function<void(std::int64_t begin, std::int64_t count)>;

/// y [batch, groups * out, ...] = weight [groups * out, in, ...] by the windows of x, plus bias [groups * out], which
/// may be null. `finished` may be empty. On several threads; the bits do not depend on their number.
void convolve(const DirectConvolution& c, const float* x, const float* weight, const float* bias, float* y,
              const Finished& finished);

}  // namespace tern::planes
