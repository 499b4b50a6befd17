// The times of the steps of one run by the device's own clock.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/context.h"
#include "runtime/devices/stream.h"
#include "threads/loop_recorder.h"

namespace tern {

/// While it lives, steps of a session that measures its nodes add the device's times to the session's profile.
/// Does nothing if the session does not measure, or if the device has no such clock: then the host waits for steps.
class DeviceTimes {
 public:
  explicit DeviceTimes(SessionContext& session);
  ~DeviceTimes();
  DeviceTimes(const DeviceTimes&) = delete;
  DeviceTimes& operator=(const DeviceTimes&) = delete;

  /// Later work on the stream belongs to this node, and to the nodes that were entered before and not left.
  void enter(std::uint32_t function, std::uint32_t node);
  void leave();
  /// Waits for the stream, and adds all times to the profile.
  void finish();

 private:
  struct Visit {
    std::uint32_t function, node;
    std::size_t outer;  ///< the visit that this one is in; 0: none
  };

  SessionContext& session_;
  StepClock* clock_ = nullptr;  ///< while it measures
  std::vector<Visit> visits_;   ///< the first is none
  std::size_t current_ = 0;
};

/// Runs a step and adds its time to the session's profile. `run` fills in the views.
template <class Run>
void measure_step(const SessionContext& session, std::uint32_t function, const Step& step,
                  std::span<const TensorView> in, std::span<const TensorView> out, const Run& run) {
  if (session.times != nullptr) {
    session.times->enter(function, step.number);
    run();
    session.times->leave();
    session.profile->add(function, step, in, out, 0);
    return;
  }
  const double start = LoopRecorder::now();
  run();
  session.stream->synchronize();
  const double end = LoopRecorder::now();
  session.profile->add(function, step, in, out, end - start);
  if (LoopRecorder* recorder = LoopRecorder::current()) recorder->end_node(function, step.number, start, end);
}

}  // namespace tern
