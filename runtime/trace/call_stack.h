// Modules of a thread's nodes, as frames nested in time. The writer derives frames from nodes, so recording costs
// nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/trace/event.h"

namespace tern {

struct StackFrame {
  std::string name;                  ///< JSON: "nn.Module: encoder.fc1", "model.py(42): aten.linear.default"
  std::uint64_t begin = 0, end = 0;  ///< steady nanoseconds
  std::int64_t id = 0, parent = 0;   ///< 0: none
};

class CallStack {
 public:
  using FrameSink = std::function<void(const StackFrame&)>;
  /// Adds the next node of the thread; passes frames not containing the node to `sink`.
  void add(const TraceEvent& node, const FrameSink& sink);
  /// Closes all frames at the end of a run.
  void close(const FrameSink& sink) { shrink(0, sink); }

 private:
  void shrink(std::size_t depth, const FrameSink& sink);
  std::vector<StackFrame> open_;  ///< open frames of modules: "encoder", then "encoder.fc1"
  std::int64_t ids_ = 0;
};

}  // namespace tern
