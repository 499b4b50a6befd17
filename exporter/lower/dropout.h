// Dropout, for lowerings of operators that have it inside.
#pragma once

#include "exporter/builder.h"

namespace tern {

/// Each element of x with the probability `keep`, divided by it; else 0. Draws a number for each.
ValueId dropped(Builder& b, ValueId x, double keep);

}  // namespace tern
