// Computes what only the last row of a value needs.
#pragma once

#include "exporter/builder.h"

namespace tern {

/// The last element along `axis` of `v`, as an axis of size 1. Products, pointwise nodes and the like that nothing else
/// reads are computed for that row alone: of a prompt's logits and of the layer behind the last attention, a loop reads
/// one row. The nodes that this replaces stay until remove_dead_code().
ValueId last_row(Builder& b, ValueId v, std::size_t axis);

}  // namespace tern
