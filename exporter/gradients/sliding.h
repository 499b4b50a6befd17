// Gradients of windows that slide over an image: to the image, and to the weight.
#pragma once

#include <cstdint>
#include <vector>

#include "exporter/builder.h"

namespace tern {

/// How the windows of a convolution lie, by spatial axis.
struct Windows {
  std::vector<std::int64_t> strides, dilations, before, after;
  std::int64_t groups = 1;
};

/// Strides in elements of a row-major value.
Dims row_major(Builder& b, const Dims& sizes);

/// What reaches the image `sizes` (spatial axes alone) from `g` [n, o, windows...] through `weight` [o, c / groups,
/// kernel...]: [n, c, sizes...]. Windows may end beyond the image and its padding.
ValueId image_gradient(Builder& b, ValueId g, ValueId weight, const Windows& w, const Dims& sizes);

/// The same of a transposed convolution: a convolution of `g` with its weight [c, o / groups, kernel...].
ValueId transposed_image_gradient(Builder& b, ValueId g, ValueId weight, const Windows& w, const Dims& sizes);

/// The gradient of a weight [narrow's channels, wide's channels / groups, kernel...]: `wide` is the image that the
/// kernel slides over, `narrow` has a number for each window.
ValueId weight_gradient(Builder& b, ValueId wide, ValueId narrow, const Dims& kernel, const Windows& w);

}  // namespace tern
