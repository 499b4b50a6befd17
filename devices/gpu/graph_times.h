// Times of a graph's work: by the vendor's records of nodes where its library is installed, else by events between the
// nodes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "devices/gpu/api.h"

namespace tern::gpu {

/// Work of a graph recorded during a measurement. Destroyed with the device entered.
struct GraphTimes {
  struct Interval {
    std::uint64_t number;
    Event begin, end;
  };
  GraphTimes() = default;
  ~GraphTimes();
  GraphTimes(const GraphTimes&) = delete;
  GraphTimes& operator=(const GraphTimes&) = delete;

  std::uint64_t number = 0;                        ///< calls of `annotate` so far
  bool has_records = false;                        ///< true if the vendor's library records the nodes
  bool is_captured = false;                        ///< true after the capture: nodes created later are copies
  bool is_complete = true;                         ///< false if work has no events
  std::vector<Interval> intervals;                 ///< intervals of work
  std::map<std::uint64_t, std::uint64_t> numbers;  ///< number of each node of the graph and of its executable copy
};

/// A node's work in one launch of its graph, on the clock of the vendor's library.
struct NodeRecord {
  std::uint64_t node = 0;
  std::uint32_t launch = 0;  ///< grows from launch to launch
  std::uint64_t begin = 0, end = 0;
};

// Vendor code (cuda/, hip/):
/// Begins to record nodes in this process. Returns false if no library does, or if another profiler uses it. Calls
/// nest.
bool begin_node_records();
void end_node_records();
/// Numbers the nodes that this thread adds from now on; null: none.
void number_nodes(GraphTimes* times);
/// Returns and removes all finished records of the nodes in `numbers`.
std::vector<NodeRecord> take_node_records(const std::map<std::uint64_t, std::uint64_t>& numbers);
/// Adds an event to the graph captured by a stream, after all captured work.
Status record_in_graph(Stream stream, Event event);

}  // namespace tern::gpu
