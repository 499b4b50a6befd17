// Captured runs: recorded once with all their addresses, and replayed without planning, checking or allocating.
//
//   tern::Stream stream("xpu");
//   tern::Session session(prepared, stream);
//   tern::Graph graph;
//   graph.capture_begin(stream);
//   const std::vector<tern::Tensor>& outputs = session.run({input});  // records, and runs nothing
//   graph.capture_end();
//   for (...) {
//     fill(input);  // the same memory
//     graph.replay();
//     stream.synchronize();  // outputs hold the results now
//   }
#pragma once

#include <tern/stream.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tern {

class GraphImpl;

/// A node of the program that a graph runs, as in NodeTime.
struct GraphNode {
  std::string function;
  std::uint32_t node = 0;
  std::string op, origin, module;
  int depth = 0;  ///< in how many bodies of captured control flow it lies
};

/// Works on every device. Where it has graphs of its own (tern/device.h, "graph"), launches are handed over to them;
/// else Tern keeps the launches and replays them. `cond` and `while_loop` stay inside: predicates are read at each
/// replay. What a size depends on data for cannot be captured, and loops over rows (scan, map) are unrolled.
///
/// The memory of a captured run's intermediate values and results belongs to the graph. Its inputs are read from the
/// caller's memory, and written back there, at every replay; a result given to a later run in the capture stays on the
/// device. Mutable state and random numbers are the session's.
class TERN_API Graph {
 public:
  Graph();
  ~Graph();
  Graph(Graph&&) noexcept;
  Graph& operator=(Graph&&) noexcept;

  /// Runs of sessions on this stream are recorded from here on. Each may fail, and is not part of the graph then.
  void capture_begin(const Stream& stream);
  void capture_end();
  /// Puts all recorded runs on the stream of the capture. What fails on the device is said by the stream's synchronize,
  /// or here where the host has to read a predicate.
  void replay();
  /// Forgets what was captured and gives its memory back.
  void reset();

  /// The nodes in the order of the capture.
  std::vector<GraphNode> nodes() const;
  /// Bytes of memory that belong to the graph: intermediate values, inputs and results on the device.
  std::uint64_t memory_bytes() const;
  /// How many graphs of the device's own it consists of; 0 where Tern replays the launches.
  std::size_t device_graphs() const;

 private:
  std::unique_ptr<GraphImpl> impl_;
};

}  // namespace tern
