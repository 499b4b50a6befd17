// Which nodes to keep in float32, and what that gives.
#pragma once

#include <string>
#include <vector>

#include "tools/verify/nodes.h"

namespace tern {

struct Advice {
  std::vector<std::string> patterns;  ///< for --keep; empty where no node's precision is to blame
  Compared kept;                      ///< the run under test with these nodes kept, against the reference run
  bool enough = true;                 ///< that meets the limits; else kMostKept nodes do not either
};
inline constexpr std::size_t kFewKept = 3, kMostKept = 24;

/// The patterns of the `most` nodes with the largest own errors, of those whose products --keep can leave in float32.
std::vector<std::string> keep_patterns(const Side& test, const std::vector<NodeDeviation>& nodes, std::size_t most);

/// Runs the calls again with some nodes kept: kFewKept, and twice as many until that is enough.
Advice advise(const Side& test, const Side& reference, const std::vector<NodeDeviation>& nodes, const Calls& calls,
              const std::function<bool(const Compared&)>& is_enough);

}  // namespace tern
