// In which order weights get larger formats: the most error per byte first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tern {

/// A way to store a weight, and what that adds to the error of the results: energy over the energy of the results.
struct Rung {
  std::uint64_t bytes = 0;
  double noise = 0;
};

/// From rung `from` to rung `to` of one weight.
struct Raise {
  std::size_t weight = 0, from = 0, to = 0;
};

struct RaisingOrder {
  std::vector<std::size_t> start;  ///< for each weight the rung with the fewest bytes
  std::vector<Raise> raises;       ///< each takes the one before it for granted
};

/// Errors of different weights are taken to be independent, so that their energies add up. Rungs that cost more than
/// their neighbours give (above the lower convex hull of noise over bytes) are passed over; then the first n raises are
/// the best use of their bytes, for each n. Ties go to the earlier weight.
RaisingOrder raising_order(const std::vector<std::vector<Rung>>& weights);

}  // namespace tern
