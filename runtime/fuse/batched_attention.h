// Merges attention over batch slots into one node. Archives of `tern export --llm --batch` loop over the slots of their
// caches: a slot without a sequence in this run yields zeros; a slot with a sequence attends to the filled part of its
// cache, sized by a number read on the host. The loop saves work on the CPU. A GPU would wait for the host twice per
// slot and layer, and its attention kernel skips masked keys anyway.
#pragma once

#include <cstdint>
#include <vector>

#include "schema/program.h"

namespace tern {

/// Replaces such loops in a copy of a function of the program. Returns the old number of each node of the new function.
/// Sums are computed in another order.
std::vector<std::uint32_t> batch_attention(const Program& program, Function& f);

}  // namespace tern
