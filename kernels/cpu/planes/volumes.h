// Direct float convolutions of volumes with one input channel for each output. A slice of the result is a convolution
// of planes: the slices that its windows reach are the planes.
#pragma once

#include "kernels/cpu/planes/convolve.h"

namespace tern::planes {

/// That `convolve_volumes` takes it.
bool is_direct_volume(const DirectConvolution& c);

/// As `convolve`, for three dimensions.
void convolve_volumes(const DirectConvolution& c, const float* x, const float* weight, const float* bias, float* y,
                      const Finished& finished);

}  // namespace tern::planes
