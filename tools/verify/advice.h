// Advice on nodes to keep in float32, with the resulting errors.
#pragma once

#include <string>
#include <vector>

#include "tools/verify/nodes.h"

namespace tern {

struct Advice {
  std::vector<std::string> patterns;  ///< patterns for --keep; empty if precision is not the cause
  Compared comparison;                ///< the run under test with these nodes kept, against the reference run
  bool enough = true;                 ///< true if the patterns meet the limits; false: even kMaxKept nodes do not
};
inline constexpr std::size_t kFewKept = 3, kMaxKept = 24;

/// The patterns of the `max_patterns` nodes with the largest own errors, among the nodes affected by --keep.
std::vector<std::string> keep_patterns(const Side& test, const std::vector<NodeDeviation>& nodes,
                                       std::size_t max_patterns);

/// Runs the calls again with some nodes kept: kFewKept at first, then doubling until the limits are met.
Advice advise(const Side& test, const Side& reference, const std::vector<NodeDeviation>& nodes, const Calls& calls,
              const std::function<bool(const Compared&)>& is_enough);

}  // namespace tern
