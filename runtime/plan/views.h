// Strided views: the effect of each view op on a TensorView, where possible without moving elements.
#pragma once

#include <cstdint>

#include "kernels/kernel.h"

namespace tern {

/// Sets `out` (sizes given) to the view of `x` by `node` (attributes constant), and adds the byte offset of the first
/// element to *offset. Returns false if `x` must be made contiguous first; a second call with contiguous `x` never
/// fails.
bool apply_view(const Node& node, const TensorView& x, TensorView* out, std::int64_t* offset);

}  // namespace tern
