// Which elements a collective can reduce, and how: the rule of programs and of groups.
#pragma once

#include <tern/collective.h>

namespace tern {

/// Whether `op` is defined for elements of this type, as tern/collective.h says: as PyTorch's gloo and NCCL define it,
/// and no further. A complex element is two floats there.
bool is_reducible(ReduceOp op, DType t);

}  // namespace tern
