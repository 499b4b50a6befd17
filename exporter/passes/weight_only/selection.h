// Rows of a converted table.
#pragma once

#include "exporter/builder.h"
#include "exporter/passes/weight_only/trace.h"

namespace tern::weight_only {

/// Rewrites an index_select of a table that pointwise nodes convert from an 8-bit weight: selects rows of the weight,
/// then converts the selected rows only. Returns kNoValue for other nodes.
ValueId selection_before_conversion(Builder& b, const ByteWeights& weights, const Node& n);

}  // namespace tern::weight_only
