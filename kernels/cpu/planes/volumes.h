// Direct float convolutions of volumes with one input channel per output. A slice of the result is a convolution over
// the slices in reach, taken as planes.
#pragma once

#include "kernels/cpu/planes/convolve.h"

namespace tern::planes {

/// True if `convolve_volumes` takes the convolution.
bool is_direct_volume(const DirectConvolution& c);

/// Like `convolve`, for three dimensions.
void convolve_volumes(const DirectConvolution& c, const float* x, const float* weight, const float* bias, float* y,
                      const Finished& finished);

}  // namespace tern::planes
