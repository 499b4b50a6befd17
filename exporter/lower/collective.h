// Nodes of collectives, for several families of operators.
#pragma once

#include <tern/collective.h>

#include <string_view>

#include "exporter/lower/lower.h"

namespace tern {

/// A call with the group that `c` names; `groups`: how many ranks it is for, 0 for any. It starts, and the read of its
/// result waits for it. `x` itself in a group of one.
ValueId add_collective(Builder& b, const Call& c, ValueId x, CollectiveKind kind, std::int64_t groups,
                       std::string_view reduce, std::int64_t root = 0, const Dims& sizes = {}, const Dims& counts = {});

/// torch.ops.symm_mem.
std::span<const Lowering> symmetric_memory_lowerings();

}  // namespace tern
