// tern bench: the least time of each node by the machine's measured limits, and the time lost beyond it.
#pragma once

#include <tern/tern.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runtime/plan/chosen.h"
#include "tools/machine.h"

namespace tern {

enum class LimitKind : std::uint8_t {
  arithmetic,  ///< least operations at the peak of the node's type
  bytes,       ///< operands and results, each once, at the copy rate of a buffer as large
  latency,     ///< a call on all threads
};
std::string_view name_of(LimitKind kind);

/// A node and its limit, for one run of the function.
struct LimitedNode {
  NodeTime time;          ///< sums over the profiled runs
  std::string algorithm;  ///< empty for kernels without algorithms
  double seconds = 0;     ///< sum over all visits in a run
  double limit = 0;       ///< least seconds
  LimitKind kind = LimitKind::latency;
  double lost() const { return seconds > limit ? seconds - limit : 0; }
};

/// True for nodes with bodies, whose nodes are listed themselves.
bool runs_other_nodes(const std::string& op);

using ChosenKernels = std::map<std::pair<std::string, std::uint32_t>, ChosenKernel>;

/// Leaves out nodes that run others. `run_count`: profiled runs of the function.
std::vector<LimitedNode> limited_nodes(const std::vector<NodeTime>& nodes, std::uint64_t run_count,
                                       const ChosenKernels& chosen, const MachinePeaks& peaks);

/// Lost time of the nodes of one op, algorithm, and class of sizes.
struct LostTime {
  std::string op, algorithm, size;  ///< `size`: bytes of a node's operands and results, "to 1 MB"
  std::uint64_t nodes = 0;
  double seconds = 0, limit = 0, lost = 0;
};
/// The largest loss first.
std::vector<LostTime> lost_by_class(const std::vector<LimitedNode>& nodes);

/// A table of the classes and their sum.
std::string lost_text(const std::vector<LostTime>& lost);

}  // namespace tern
