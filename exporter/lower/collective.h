// Nodes of collectives, for several families of operators.
#pragma once

#include <tern/collective.h>

#include <string_view>

#include "exporter/lower/lower.h"

namespace tern {

/// Adds a collective over the group named by `c`; reading the result waits for completion. `groups`: the required
/// number of ranks, 0 for any. A group of one returns `x` itself.
ValueId add_collective(Builder& b, const Call& c, ValueId x, CollectiveKind kind, std::int64_t groups,
                       std::string_view reduce, std::int64_t root = 0, const Dims& sizes = {}, const Dims& counts = {});

/// torch.ops.symm_mem.
std::span<const Lowering> symmetric_memory_lowerings();

}  // namespace tern
