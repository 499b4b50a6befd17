// Dropout inside other operators.
#pragma once

#include "exporter/builder.h"

namespace tern {

/// Keeps each element of x with probability `keep`, divided by `keep`; zeros the others. Draws a number per element.
ValueId dropped(Builder& b, ValueId x, double keep);

}  // namespace tern
