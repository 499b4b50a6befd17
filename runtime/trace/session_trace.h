// Trace state of a session: labels of its steps, and the running node.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>

#include "kernels/portable/launcher.h"
#include "runtime/context.h"
#include "runtime/trace/recorder.h"

namespace tern {

class SessionTrace {
 public:
  SessionTrace(std::shared_ptr<TraceRecorder> recorder, const SessionContext& context);

  TraceRecorder& recorder() const { return *recorder_; }
  bool is_of(const TraceRecorder& recorder) const { return recorder_.get() == &recorder; }

  /// Returns the label of a step with these views; created once per living step.
  const EventLabel* label(std::uint32_t function, const PlanStep& step, std::span<const TensorView> in,
                          std::span<const TensorView> out);
  /// Forgets a dropped plan: new steps may reuse the addresses of its steps.
  void forget(const SectionPlan& plan);
  /// Returns the scope for the annotations of the step's node; null without annotations.
  const EventLabel* annotation(std::uint32_t function, const PlanStep& step);
  const EventLabel* kernel_label(portable::KernelHandle kernel);

  std::int16_t device() const { return device_; }
  std::uint16_t stream() const { return stream_; }

  /// The running node, for its device work.
  struct Open {
    const EventLabel* label = nullptr;
    std::uint64_t id = 0;
  };
  Open open;

 private:
  std::shared_ptr<TraceRecorder> recorder_;
  const SessionContext& context_;
  /// Keyed by step address and by kernel handle: a single map type keeps the library small.
  std::unordered_map<std::uintptr_t, const EventLabel*> labels_, kernels_;
  std::uint64_t plans_dropped_;
  std::int16_t device_;
  std::uint16_t stream_;
};

/// A run of a function or a graph, traced if a trace records at its start.
class TracedRun {
 public:
  TracedRun(SessionContext& context, std::unique_ptr<SessionTrace>& session, const std::string& function);
  ~TracedRun();
  TracedRun(const TracedRun&) = delete;
  TracedRun& operator=(const TracedRun&) = delete;

 private:
  SessionContext& context_;
  TraceEvent event_;
  int exceptions_ = 0;
};

/// A step of a possibly traced session.
class TracedStep {
 public:
  TracedStep(SessionTrace* session, std::uint32_t function, const PlanStep& step, std::span<const TensorView> in,
             std::span<const TensorView> out)
      : session_(session) {
    if (session_ != nullptr) begin(function, step, in, out);
  }
  ~TracedStep() {
    if (session_ != nullptr) end();
  }
  TracedStep(const TracedStep&) = delete;
  TracedStep& operator=(const TracedStep&) = delete;

 private:
  void begin(std::uint32_t function, const PlanStep& step, std::span<const TensorView> in,
             std::span<const TensorView> out);
  void end() noexcept;

  SessionTrace* session_;
  SessionTrace::Open outer_;
  const EventLabel* annotation_ = nullptr;
  TraceEvent event_;
  int exceptions_ = 0;
};

}  // namespace tern
