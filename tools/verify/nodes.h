// Node by node: what each adds to the error by itself, and what has come together where it ends.
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
  std::uint32_t number = 0;  ///< in the function
  /// Of the result with the largest error, over all calls. Views are left out.
  Deviation accumulated;         ///< in the run under test, against the reference run
  std::optional<Deviation> own;  ///< the node alone on the reference's operands; none where it cannot run alone
  std::string mismatch;          ///< how a result's sizes differ between the runs; then the deviations are of no use
};

struct NodesRequest {
  /// For values that are observed at once; both runs and the nodes alone hold about four times as much.
  std::uint64_t bytes = std::uint64_t{64} << 20;
  std::function<void(std::size_t done, std::size_t total)> on_progress;
  std::function<bool(std::uint32_t node)> measures;  ///< which nodes; all where it is empty
};

/// In program order, every node of the function that gives a floating tensor. Both sides have the same nodes.
std::vector<NodeDeviation> measure_nodes(const Side& test, const Side& reference, const Calls& calls,
                                         const NodesRequest& request);

}  // namespace tern
