// The scale of a weight behind the product.
#pragma once

#include <optional>
#include <vector>

#include "exporter/builder.h"
#include "exporter/passes/weight_only/trace.h"

namespace tern::weight_only {

/// The shape of the scale where it meets the weight, with as many axes as that, and after each of the views that
/// follow.
using ScaleShapes = std::vector<Dims>;

/// Empty if the scale differs along the axis that the product sums over, or a view mixes its axes with others.
std::optional<ScaleShapes> shapes_behind_product(const ByteWeights& weights, const ByteOperand& operand);

/// The scale such that it broadcasts to the product's result.
ValueId scale_behind_product(Builder& b, const ByteOperand& operand, const ScaleShapes& shapes);

}  // namespace tern::weight_only
