// Attention over the filled part of a cache.
#pragma once

#include <cstdint>

#include "exporter/builder.h"

namespace tern {

/// Limits attention over a cache of `slots` positions to the first `filled`, int64[], rounded up to whole blocks: the
/// mask hides the others. A token then costs time in proportion to the text, not to the cache. Nodes without a mask
/// stay. The first `added_count` nodes compute and check `filled`. Returns the number of changed nodes.
std::size_t read_filled_slots(Builder& b, ValueId filled, std::size_t added_count, std::int64_t slots);

}  // namespace tern
