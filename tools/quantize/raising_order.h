// Order of raising weights to larger formats: the largest error reduction per byte first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tern {

/// A way to store a weight, and its contribution to the error of the results: energy over the energy of the results.
struct Rung {
  std::uint64_t bytes = 0;
  double noise = 0;
};

/// A step from rung `from_rung` to rung `to_rung` of a weight.
struct Raise {
  std::size_t weight = 0, from_rung = 0, to_rung = 0;
};

struct RaisingOrder {
  std::vector<std::size_t> start;  ///< the rung with the fewest bytes for each weight
  std::vector<Raise> raises;       ///< each raise requires its predecessor
};

/// Errors of different weights count as independent: their energies add up. Inefficient rungs (above the lower convex
/// hull of noise over bytes) are skipped; then the first n raises are the best use of their bytes, for each n. Ties go
/// to the earlier weight.
RaisingOrder raising_order(const std::vector<std::vector<Rung>>& weights);

}  // namespace tern
