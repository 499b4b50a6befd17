// Attention of several texts, slot by slot, becomes one node. Archives of `tern export --llm --batch` loop over the
// slots of their caches: a slot without a text in this run makes zeros, and one with a text attends to the part of its
// cache that is filled, whose size the host reads. The CPU does no needless work that way. A GPU waits for the host
// twice for each slot and layer, and its attention passes over keys that the mask hides.
#pragma once

#include <cstdint>
#include <vector>

#include "schema/program.h"

namespace tern {

/// Replaces such loops in a copy of a function of the program. Returns for each node of the new function its number
/// in the old one. Sums are made in another order.
std::vector<std::uint32_t> batch_attention(const Program& program, Function& f);

}  // namespace tern
