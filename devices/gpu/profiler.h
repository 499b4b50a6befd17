// "profiler": times launches and copies by device events, and the work of graphs (graph_times.h).
#pragma once

#include <cstdint>
#include <vector>

#include "devices/gpu/graph_times.h"
#include "devices/gpu/handles.h"

namespace tern::gpu {

/// Work enqueued on a stream since `begin` and not yet taken, in order.
struct StreamProfile {
  struct Command {
    std::uint64_t id;
    Event begin, end;
  };
  std::uint64_t id = 0;  ///< id of the last mark
  Event zero = nullptr;  ///< origin of the clock
  std::vector<Command> commands;

  struct GraphLaunch {
    std::uint64_t id;
    std::shared_ptr<GraphTimes> times;
    Event begin, end;  ///< around the launch
  };
  std::shared_ptr<GraphTimes> recording;            ///< set while the stream records a graph
  bool has_records = false;                         ///< true after begin_node_records
  std::vector<GraphLaunch> launches;                ///< launches without spans so far
  std::vector<tern_device_graph_span> graph_spans;  ///< not yet taken
};

/// Begins to time the graph that a measured stream records.
void begin_graph_times(StreamProfile& profile);
/// Ends the recording begun by begin_graph_times. Null if some work cannot be timed.
std::shared_ptr<GraphTimes> end_graph_times(StreamProfile& profile);
/// Launches a graph with times on a measured stream.
tern_device_status launch_timed(tern_device_stream_s& stream, const tern_device_graph_s& graph);

/// Brackets enqueued work with two events, if the stream is measured.
class TimedWork {
 public:
  explicit TimedWork(tern_device_stream_s& stream);
  ~TimedWork();
  TimedWork(const TimedWork&) = delete;
  TimedWork& operator=(const TimedWork&) = delete;

 private:
  tern_device_stream_s& stream_;
  Event begin_ = nullptr;
};

}  // namespace tern::gpu
