// Scales of columns that a preceding node absorbs, so that important columns of a weight lose less by rounding.
//
// AWQ (Lin et al.: "AWQ: Activation-aware Weight Quantization", https://arxiv.org/abs/2306.00978). For y = x W^T,
// column j of W takes the factor s[j], and the node that computes x divides by s[j]:
//
//   s[j] = importance[j]^(power / 2), divided by the geometric mean of the largest and the smallest s
//
// The power with the least error of the quantized weights, weighted by importance / s^2, is one of 0, 0.05, ... 0.95.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "exporter/passes/quantize/sample_data.h"
#include "schema/program.h"

namespace tern {

/// Changes the bytes of float32 weights in the program's source, an ExtendableSource. Results stay up to rounding.
/// Dividing nodes: the weight and bias of a norm, a product with a vector, and the rows of a weight whose product is
/// multiplied elementwise; their results must have no other readers than products. `recipe_of` is null for weights that
/// are not quantized. `importance` becomes that of the changed program. Returns the number of changed operands.
std::size_t absorb_scales(const Program& program,
                          const std::function<const quantize::Recipe*(const std::string& weight)>& recipe_of,
                          std::map<WeightPart, std::vector<float>>& importance);

}  // namespace tern
