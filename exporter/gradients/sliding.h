// Gradients of sliding windows: for the image, and for the weight.
#pragma once

#include <cstdint>
#include <vector>

#include "exporter/builder.h"

namespace tern {

/// Geometry of a convolution's windows, by spatial axis.
struct Windows {
  std::vector<std::int64_t> strides, dilations, padding_before, padding_after;
  std::int64_t groups = 1;
};

/// Strides in elements of a row-major value.
Dims row_major(Builder& b, const Dims& sizes);

/// Gradient of the image of `sizes` (spatial axes alone) from `g` [n, o, windows...] through `weight` [o, c / groups,
/// kernel...]: [n, c, sizes...]. Windows may end beyond the image and its padding.
ValueId image_gradient(Builder& b, ValueId g, ValueId weight, const Windows& w, const Dims& sizes);

/// Gradient of a transposed convolution's image: a convolution of `g` with its weight [c, o / groups, kernel...].
ValueId transposed_image_gradient(Builder& b, ValueId g, ValueId weight, const Windows& w, const Dims& sizes);

/// Gradient of a weight [channels of window_values, channels of image / groups, kernel...]: the kernel slides over
/// `image`; `window_values` has a number for each window.
ValueId weight_gradient(Builder& b, ValueId image, ValueId window_values, const Dims& kernel, const Windows& w);

}  // namespace tern
