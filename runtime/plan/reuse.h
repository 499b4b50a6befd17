// Places results in the memory of dead operands.
#pragma once

#include "runtime/plan/draft.h"

namespace tern {

/// Returns the operand of node `i` with memory reusable for result `k` (viewed as `out`), or -1.
int overwritten_operand(Draft& d, std::uint32_t i, const Node& n, const Kernel& kernel, std::size_t k,
                        const TensorView& out);

}  // namespace tern
