// Graphs: runs that are captured once, with all addresses, and replayed without planning, checks or allocation.
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

/// Every device supports graphs. If a device has graphs of its own (tern/device.h, "graph"), Tern builds one of those;
/// else Tern keeps the launches and replays them. `cond` and `while_loop` are captured: each replay reads their
/// predicates. Loops over rows (scan, map) are unrolled. Nodes with data-dependent output sizes cannot be captured.
///
/// Memory: the graph owns the intermediate values and results of captured runs. Each replay reads inputs from the
/// caller's memory, which must stay valid, and writes updated inputs back there. A result that a later run of the same
/// capture takes as input stays on the device. Mutable state and random numbers belong to the session.
/// Threads: a graph belongs to one thread at a time, as its stream does. Errors: tern::Error.
class TERN_API Graph {
 public:
  Graph();
  ~Graph();
  Graph(Graph&&) noexcept;
  Graph& operator=(Graph&&) noexcept;

  /// Records all later runs of sessions on this stream. A run that throws is not part of the graph.
  void capture_begin(const Stream& stream);
  void capture_end();
  /// Puts all recorded runs on the captured stream. Errors on the device: Stream::synchronize throws them, or replay()
  /// if the host must read a predicate.
  void replay();
  /// Drops the recorded runs and frees their memory.
  void reset();

  /// The captured nodes, in order.
  std::vector<GraphNode> nodes() const;
  /// Bytes that the graph owns: intermediate values, and inputs and results on the device.
  std::uint64_t memory_bytes() const;
  /// Number of the device's own graphs; 0 if Tern replays the launches.
  std::size_t device_graphs() const;

 private:
  std::unique_ptr<GraphImpl> impl_;
};

}  // namespace tern
