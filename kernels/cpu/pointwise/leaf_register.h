// Loads a vector of leaf values, for loops compiled once for each level.
#pragma once

#include "kernels/cpu/pointwise/leaf_loops.h"
#include "kernels/cpu/simd/simd.h"

namespace tern::pointwise {
namespace {  // a separate copy for each instruction set

/// Returns the numbers of row `i` from column `j` on; only `lanes` of them exist.
inline simd::Floats numbers(const LeafNumbers& n, std::int64_t i, std::int64_t j, std::int64_t lanes) {
  const float* at = n.data + i * n.row;
  if (n.column == 0) return simd::broadcast(*at);
  return lanes == simd::kLanes ? simd::load(at + j) : simd::load_some(at + j, lanes);
}

}  // namespace
}  // namespace tern::pointwise
