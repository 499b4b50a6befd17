// Tables of the _backward operators found in joint graphs of forward and backward passes.
#pragma once

#include <span>

#include "exporter/lower/reduction.h"

namespace tern {

std::span<const Lowering> pointwise_gradient_lowerings();   ///< activations and losses
std::span<const Lowering> index_gradient_lowerings();       ///< select, slice, gather, unfold ...
std::span<const Lowering> window_gradient_lowerings();      ///< convolution and pooling
std::span<const Lowering> norm_gradient_lowerings();        ///< softmax and the normalizations
std::span<const Lowering> recomputed_gradient_lowerings();  ///< padding, grid sampling, distances ...

}  // namespace tern
