// Numbers of a session's generator, computed by nodes from the seed alone.
#pragma once

#include "exporter/builder.h"

namespace tern {

/// float64[] in [0, 1): number `draw`, int64[], counted from 0, drawn as float64[] by a session with seed `seed`,
/// int64[]. The generator is Philox 4x32-10 (schema/ops/pointwise.cpp, random).
ValueId session_draw(Builder& b, ValueId seed, ValueId draw);

}  // namespace tern
