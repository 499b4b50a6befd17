// Rows of a converted table.
#pragma once

#include "exporter/builder.h"
#include "exporter/passes/weight_only/trace.h"

namespace tern::weight_only {

/// An index_select of what pointwise nodes make of a weight of 8 bits becomes those pointwise nodes of the selected
/// rows, so that only the rows that are read are converted. None where `n` is something else.
ValueId selection_before_conversion(Builder& b, const ByteWeights& weights, const Node& n);

}  // namespace tern::weight_only
