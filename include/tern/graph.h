// Graphs: runs captured once, with all addresses, and replayed without planning, checks or allocation.
//
//   tern::Stream stream("xpu");
//   tern::Session session(prepared, stream);
//   tern::Graph graph;
//   graph.capture_begin(stream);
//   const std::vector<tern::Tensor>& outputs = session.run({input});  // records the run; computes nothing
//   graph.capture_end();
//   for (...) {
//     fill(input);  // in place: the graph reads the same memory
//     graph.replay();
//     stream.synchronize();  // now `outputs` hold the results
//   }
#pragma once

#include <tern/stream.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tern {

class GraphImpl;

/// A captured node of the program; names as in NodeTime.
struct GraphNode {
  std::string function;
  std::uint32_t node = 0;
  std::string op, origin, module;
  int depth = 0;  ///< number of captured bodies (of cond, while_loop) around the node
};

/// Every device supports graphs. Tern builds native graphs if the device has them (tern/device.h, "graph"); else Tern
/// keeps and replays the launches. `cond` and `while_loop` are captured: each replay reads their predicates. Loops over
/// rows (scan, map) are unrolled. Nodes with data-dependent output sizes cannot be captured.
///
/// Memory: the graph owns the intermediate values and results of captured runs. Each replay reads inputs from the
/// caller's memory, and writes updated inputs back to this memory; the memory must stay valid. A result stays on the
/// device if a later run of the same capture takes the result as input. Mutable state and random numbers belong to the
/// session.
/// Threads: a graph and its stream belong to one thread at a time. Errors: tern::Error.
class TERN_API Graph {
 public:
  Graph();
  ~Graph();
  Graph(Graph&&) noexcept;
  Graph& operator=(Graph&&) noexcept;

  /// Records all later runs of sessions on this stream. A throwing run is not part of the graph.
  void capture_begin(const Stream& stream);
  void capture_end();
  /// Puts all recorded runs on the captured stream. Stream::synchronize throws errors on the device; replay() throws
  /// device errors if the host must read a predicate.
  void replay();
  /// Drops the recorded runs and frees their memory.
  void reset();

  /// The captured nodes, in order.
  std::vector<GraphNode> nodes() const;
  /// Bytes owned by the graph: intermediate values, and inputs and results on the device.
  std::uint64_t memory_bytes() const;
  /// Number of the device's own graphs; 0 if Tern replays the launches.
  std::size_t device_graphs() const;

 private:
  std::unique_ptr<GraphImpl> impl_;
};

}  // namespace tern
