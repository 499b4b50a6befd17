// Results in memory that an operand leaves.
#pragma once

#include "runtime/plan/draft.h"

namespace tern {

/// The operand of node `i` whose memory result `k`, seen as `out`, can take over, or -1.
int overwritten_operand(Draft& d, std::uint32_t i, const Node& n, const Kernel& kernel, std::size_t k,
                        const TensorView& out);

}  // namespace tern
