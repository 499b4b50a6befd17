// Reductions of collectives: the rule shared by programs and groups.
#pragma once

#include <tern/collective.h>

namespace tern {

/// True if `op` is defined for elements of this type, as listed in tern/collective.h: exactly the definitions of
/// PyTorch's gloo and NCCL. A complex element counts as two floats.
bool is_reducible(ReduceOp op, DType t);

}  // namespace tern
