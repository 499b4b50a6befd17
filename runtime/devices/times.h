// Measures the steps of a run by the device's clock, and the host's calls on the stream.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/context.h"
#include "runtime/devices/graph_work.h"
#include "runtime/devices/stream.h"
#include "runtime/trace/session_trace.h"
#include "threads/loop_recorder.h"

namespace tern {

/// While alive, adds the device's step times to the session's profile (if the session measures nodes) and trace (if the
/// session is traced); otherwise does nothing. Without a device clock, the host waits for each step, and the trace
/// holds host calls only.
class DeviceTimes : public StreamWatch {
 public:
  explicit DeviceTimes(SessionContext& session);
  ~DeviceTimes() override;
  DeviceTimes(const DeviceTimes&) = delete;
  DeviceTimes& operator=(const DeviceTimes&) = delete;

  /// Assigns later work on the stream to this node and to all enclosing nodes.
  void enter(std::uint32_t function, std::uint32_t node);
  void leave();
  /// True if graphs recorded now have times of their work in the trace.
  bool times_graphs() const;
  /// Launches a graph with this work, whose steps live until `finish`.
  void launch(DeviceGraph& graph, const std::vector<GraphWork>& work_list);
  /// Waits for the stream, and adds all times to the profile and the trace.
  void finish();

  void begin(Call call, portable::KernelHandle kernel, std::uint64_t bytes) override;
  void end() noexcept override;

 private:
  struct Visit {
    std::uint32_t function, node;
    std::size_t outer;       ///< the enclosing visit; 0: none
    std::uint64_t mark = 0;  ///< mark of work started by the device itself
  };
  /// Text of a graph's work.
  struct GraphText {
    const EventLabel* name;
    const EventLabel* node;   ///< null: control flow
    const EventLabel* scope;  ///< the node's annotations in the current scope
    bool is_copy;
    std::uint64_t bytes;
  };
  /// A call of the host, or a node with work started by the device itself.
  struct Started {
    TraceEvent event;
    std::size_t visit;
    bool is_copy, is_call;
    const EventLabel* device_work;  ///< label of the started work
    std::vector<StepClock::Time> times;
    std::vector<GraphText> graph_texts;  ///< texts of a graph's work
  };

  bool traced() const { return session_.trace != nullptr; }
  void mark(std::uint64_t id) const;
  std::uint64_t start(const EventLabel* label, const EventLabel* device_work, EventKind kind);
  void add_to_profile(const StepClock::Time& t, std::size_t visit) const;
  const EventLabel* name_of_node_work(const EventLabel* node) const;
  void write_trace(std::uint64_t waited);
  std::int64_t offset() const;

  SessionContext& session_;
  StepClock* clock_ = nullptr;  ///< set while measuring
  std::vector<Visit> visits_;   ///< entry 0 is unused
  std::vector<Started> started_;
  std::uint64_t calling_ = 0;  ///< number of the current call in started_, counted from 1
  std::size_t current_ = 0;
  bool complete_ = false;
};

/// True if a traced run may launch graphs of the device: their work has times.
inline bool has_graph_times(const SessionContext& session) {
  return session.times != nullptr && session.times->times_graphs();
}

/// Runs a step and adds its time to the session's profile and trace. `run` sets the views.
template <class Run>
void measure_step(const SessionContext& session, std::uint32_t function, const PlanStep& step,
                  std::span<const TensorView> in, std::span<const TensorView> out, const Run& run) {
  const TracedStep traced(session.trace, function, step, in, out);
  if (session.times != nullptr) {
    session.times->enter(function, step.number);
    run();
    session.times->leave();
    if (session.profile != nullptr) session.profile->add(function, step, in, out, 0);
    return;
  }
  const double start = LoopRecorder::now();
  run();
  session.stream->synchronize();
  if (session.profile == nullptr) return;
  const double end = LoopRecorder::now();
  session.profile->add(function, step, in, out, end - start);
  if (LoopRecorder* recorder = LoopRecorder::current()) recorder->end_node(function, step.number, start, end);
}

}  // namespace tern
