// Gradients of averages over windows: equal for all elements of a window.
#pragma once

#include <optional>

#include "exporter/gradients/sliding.h"

namespace tern {

/// Gradient of an image of `shape` from the averages `g` over the windows `w` of its last axes. `count_pads`: padding
/// counts as elements; `divisor` replaces the number of elements. The result has the sum type of g. `shape` is a copy:
/// a reference into a value moves when nodes are added.
ValueId average_gradient(Builder& b, ValueId g, Dims shape, const Windows& w, const Dims& kernel, bool count_pads,
                         std::optional<double> divisor);

/// Gradient for windows dividing the last n axes of `shape` into the last n of g.
ValueId adaptive_average_gradient(Builder& b, ValueId g, Dims shape, std::size_t n);

}  // namespace tern
