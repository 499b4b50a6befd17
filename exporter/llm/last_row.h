// Computes the operands of a value's last row alone.
#pragma once

#include "exporter/builder.h"

namespace tern {

/// Last element along `axis` of `v`, as an axis of size 1. Products, pointwise nodes and the like without other readers
/// are computed for this row alone: a generation loop reads a single row of a prompt's logits and of the layer behind
/// the last attention. Replaced nodes stay until remove_dead_code().
ValueId last_row(Builder& b, ValueId v, std::size_t axis);

}  // namespace tern
