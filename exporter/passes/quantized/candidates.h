// Candidates for the scales and zero points of a weight in a constant computation.
#pragma once

#include <vector>

#include "exporter/passes/constant_part.h"
#include "exporter/passes/quantized/fit.h"

namespace tern::quantized {

/// The weight as products read it by columns.
struct WeightSizes {
  std::int64_t rows = 0, columns = 0;  ///< n, k; of all planes
  std::int64_t planes = 1;             ///< matrices, one below the other
  bool operator==(const WeightSizes&) const = default;
};

/// Values of the slice, or states that it reads, with fewer numbers than the weight and sizes that are a grid of its
/// blocks, in either order. Equal ones once, those of fewest bytes first.
std::vector<PerBlock> scale_candidates(const Program& program, const Function& function, const ConstantPart& constants,
                                       const ConstantSlice& slice, WeightSizes weight);

}  // namespace tern::quantized
