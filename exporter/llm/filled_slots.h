// Attention that reads the filled part of a cache.
#pragma once

#include <cstdint>

#include "exporter/builder.h"

namespace tern {

/// Attention over a cache of `slots` positions reads those up to `filled`, int64[], alone, rounded up to whole blocks:
/// its mask hides the others. So a token costs what the text is long, not what the cache could hold. Nodes without a
/// mask stay. The first `before` nodes compute and check `filled`. Returns how many nodes it changed.
std::size_t read_filled_slots(Builder& b, ValueId filled, std::size_t before, std::int64_t slots);

}  // namespace tern
