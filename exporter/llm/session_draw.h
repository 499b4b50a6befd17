// Numbers of a session's generator, computed by nodes from the seed alone.
#pragma once

#include "exporter/builder.h"

namespace tern {

/// float64[] in [0, 1): the number that a session whose seed is `seed`, int64[], draws as a float64[] after `draw`
/// others like it, int64[]. The generator is Philox 4x32-10 (schema/ops/pointwise.cpp, random).
ValueId session_draw(Builder& b, ValueId seed, ValueId draw);

}  // namespace tern
