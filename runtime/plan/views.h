// Views as strides: how each view op changes a TensorView, where it can be done without moving elements.
#pragma once

#include <cstdint>

#include "kernels/kernel.h"

namespace tern {

/// Sets `out` (sizes given) to the view that `node` (attributes constant) makes of `x` and adds to *offset the bytes by
/// which its first element moves. False when it needs the elements contiguous first (then call again with a contiguous
/// x, which never fails).
bool apply_view(const Node& node, const TensorView& x, TensorView* out, std::int64_t* offset);

}  // namespace tern
