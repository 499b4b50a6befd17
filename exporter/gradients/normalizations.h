// The gradient that all normalizations have in common.
#pragma once

#include <vector>

#include "exporter/builder.h"

namespace tern {

/// Operands of a normalization over `axes`; mean and rstd have these axes with size 1.
struct Normalized {
  ValueId x, mean, rstd, weight = kNoValue;  ///< weight broadcasts; kNoValue: none
  std::vector<std::int64_t> axes;
};

/// Gradients of x, and of the weight and the bias for each element: sums over the axes that they broadcast along
/// follow.
struct NormalizedGradients {
  ValueId x = kNoValue, weight = kNoValue, bias = kNoValue;
};

NormalizedGradients normalized_gradients(Builder& b, const Normalized& n, ValueId grad);

}  // namespace tern
