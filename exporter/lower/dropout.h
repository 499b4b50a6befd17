// Dropout inside other operators.
#pragma once

#include "exporter/builder.h"

namespace tern {

/// Keeps each element of x with probability `keep_probability`, divided by the probability; zeros the others. Draws a
/// number per element.
ValueId dropped(Builder& b, ValueId x, double keep_probability);

}  // namespace tern
