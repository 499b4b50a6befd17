// What a pointwise node would compute again and again for the elements of a row, computed once for each row.
#pragma once

#include "runtime/fuse/fuse.h"

namespace tern {

/// Quotients and functions of operands that have one element for each row become nodes of their own, in front of the
/// node that reads them: dynamic quantization divides by a row's scale, normalization takes the root of its variance.
void hoist_rows(FusedFunction& f);

}  // namespace tern
