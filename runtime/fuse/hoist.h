// Hoists per-row computations out of pointwise nodes: each is computed once per row instead of once per element.
#pragma once

#include "runtime/fuse/fuse.h"

namespace tern {

/// Moves quotients and functions of per-row operands into nodes of their own, in front of the reading node: dynamic
/// quantization divides by a row's scale, normalization takes the root of a row's variance.
void hoist_rows(FusedFunction& f);

}  // namespace tern
