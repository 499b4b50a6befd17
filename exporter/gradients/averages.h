// Gradients of averages over windows: the same for all elements of a window.
#pragma once

#include <optional>

#include "exporter/gradients/sliding.h"

namespace tern {

/// What reaches an image of `shape` from the averages `g` over the windows `w` of its last axes. `count_pads`: padding
/// counts as elements; `divisor`: instead of the number of elements. In the type that sums of g have.
/// `shape` is a copy: that of a value moves when nodes are added.
ValueId average_gradient(Builder& b, ValueId g, Dims shape, const Windows& w, const Dims& kernel, bool count_pads,
                         std::optional<double> divisor);

/// The same of windows that divide the last n axes of `shape` into those of g.
ValueId adaptive_average_gradient(Builder& b, ValueId g, Dims shape, std::size_t n);

}  // namespace tern
