// Errors node by node: each node's own error, and the accumulated error after the node.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tools/verify/results.h"
#include "tools/verify/side.h"

namespace tern {

struct NodeDeviation {
  std::uint32_t number = 0;  ///< number in the function
  /// Deviations of the result with the largest error, over all calls. Views are skipped.
  Deviation accumulated;  ///< run under test against the reference run
  std::optional<Deviation>
      isolated;          ///< the node alone on the reference's operands; empty if the node cannot run alone
  std::string mismatch;  ///< differing sizes of a result between the runs; the deviations are then meaningless
};

struct NodesRequest {
  /// Limit for values observed at once; both runs and the nodes alone hold about four times this amount.
  std::uint64_t bytes = std::uint64_t{64} << 20;
  std::function<void(std::size_t done, std::size_t total)> on_progress;
  std::function<bool(std::uint32_t node)> measures;  ///< selects nodes; empty: all nodes
};

/// Measures every node of the function with a floating result, in program order. Both sides have the same nodes.
std::vector<NodeDeviation> measure_nodes(const Side& test, const Side& reference, const Calls& calls,
                                         const NodesRequest& request);

}  // namespace tern
