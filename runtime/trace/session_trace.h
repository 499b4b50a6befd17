// What a session keeps while it is traced: the labels of its steps, and the node that runs.
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

  /// Of a step with these views; made once for each step that lives.
  const EventLabel* label(std::uint32_t function, const Step& step, std::span<const TensorView> in,
                          std::span<const TensorView> out);
  /// The session drops a plan: another step may lie where one of its steps has been.
  void forget(const Plan& plan);
  /// The scope that the annotations of the step's node make; null without any.
  const EventLabel* annotation(std::uint32_t function, const Step& step);
  const EventLabel* kernel_label(portable::KernelHandle kernel);

  std::int16_t device() const { return device_; }
  std::uint16_t stream() const { return stream_; }

  /// The node that runs, for what it starts.
  struct Open {
    const EventLabel* label = nullptr;
    std::uint64_t id = 0;
  };
  Open open;

 private:
  std::shared_ptr<TraceRecorder> recorder_;
  const SessionContext& context_;
  /// By the address of a step, and by the handle of a kernel: one type, for the size of the library.
  std::unordered_map<std::uintptr_t, const EventLabel*> labels_, kernels_;
  std::uint64_t plans_dropped_;
  std::int16_t device_;
  std::uint16_t stream_;
};

/// A run of a function or a graph, traced if a trace records when it begins.
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

/// A step of a session that may be traced.
class TracedStep {
 public:
  TracedStep(SessionTrace* session, std::uint32_t function, const Step& step, std::span<const TensorView> in,
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
  void begin(std::uint32_t function, const Step& step, std::span<const TensorView> in, std::span<const TensorView> out);
  void end() noexcept;

  SessionTrace* session_;
  SessionTrace::Open outer_;
  const EventLabel* annotation_ = nullptr;
  TraceEvent event_;
  int exceptions_ = 0;
};

}  // namespace tern
