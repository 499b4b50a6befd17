#include "runtime/trace/session_trace.h"

#include <exception>

#include "runtime/devices/device.h"
#include "runtime/devices/stream.h"
#include "runtime/trace/step_label.h"
#include "runtime/trace/text.h"

namespace tern {

SessionTrace::SessionTrace(std::shared_ptr<TraceRecorder> recorder, const SessionContext& context)
    : recorder_(std::move(recorder)),
      context_(context),
      plans_dropped_(context.plans_dropped),
      device_(recorder_->number_of(context.device())),
      stream_(device_ < 0 ? 0 : recorder_->number_of(*context.stream)) {}

const EventLabel* SessionTrace::label(std::uint32_t function, const PlanStep& step, std::span<const TensorView> in,
                                      std::span<const TensorView> out) {
  if (plans_dropped_ != context_.plans_dropped) {  // untraced runs drop plans, too; new steps may reuse old addresses
    labels_.clear();
    plans_dropped_ = context_.plans_dropped;
  }
  const EventLabel*& label = labels_[reinterpret_cast<std::uintptr_t>(&step)];
  if (label == nullptr) label = recorder_->intern(label_of_step(*context_.prepared, function, step, in, out));
  return label;
}

void SessionTrace::forget(const SectionPlan& plan) {
  for (const PlanStep& step : plan.steps) labels_.erase(reinterpret_cast<std::uintptr_t>(&step));
}

const EventLabel* SessionTrace::annotation(std::uint32_t function, const PlanStep& step) {
  const Program& program = *context_.prepared->program;
  const std::vector<Node>& nodes = program.functions[function].nodes;
  if (step.number >= nodes.size() || nodes[step.number].annotations.empty()) return nullptr;
  return recorder_->scope_named(annotations_of_step(program, function, step));
}

const EventLabel* SessionTrace::kernel_label(portable::KernelHandle kernel) {
  const EventLabel*& label = kernels_[static_cast<std::uintptr_t>(kernel)];
  if (label == nullptr) label = recorder_->label_of(context_.device().kernel_name(kernel));
  return label;
}

TracedRun::TracedRun(SessionContext& context, std::unique_ptr<SessionTrace>& session, const std::string& function)
    : context_(context) {
  context.trace = nullptr;
  const std::shared_ptr<TraceRecorder> recorder = TraceRecorder::active();
  if (recorder == nullptr) {
    session = nullptr;  // left from an ended trace
    return;
  }
  if (session == nullptr || !session->is_of(*recorder)) session = std::make_unique<SessionTrace>(recorder, context);
  context.trace = session.get();
  exceptions_ = std::uncaught_exceptions();
  event_.kind = EventKind::run;
  event_.id = recorder->take_ids(1);
  event_.correlation = recorder->next_run();
  event_.label = recorder->label_of("ProfilerStep#", "\"Function\": \"" + escaped(function) + "\", ");
  event_.scope = recorder->scope();
  session->open = {nullptr, event_.id};
  event_.begin = steady_nanoseconds();
}

TracedRun::~TracedRun() {
  if (context_.trace == nullptr) return;
  event_.end = steady_nanoseconds();
  event_.unfinished = std::uncaught_exceptions() > exceptions_;
  context_.trace->recorder().add(event_);
  context_.trace = nullptr;
}

void TracedStep::begin(std::uint32_t function, const PlanStep& step, std::span<const TensorView> in,
                       std::span<const TensorView> out) {
  exceptions_ = std::uncaught_exceptions();
  TraceRecorder& recorder = session_->recorder();
  event_.label = session_->label(function, step, in, out);
  event_.id = recorder.take_ids(1);
  event_.scope = recorder.scope();
  annotation_ = session_->annotation(function, step);
  if (annotation_ != nullptr) recorder.enter_scope(annotation_);
  outer_ = session_->open;
  session_->open = {event_.label, event_.id};
  event_.begin = steady_nanoseconds();
}

void TracedStep::end() noexcept {
  event_.end = steady_nanoseconds();
  event_.unfinished = std::uncaught_exceptions() > exceptions_;
  TraceRecorder& recorder = session_->recorder();
  session_->open = outer_;
  if (annotation_ != nullptr) {
    TraceEvent scope = event_;
    scope.kind = EventKind::scope;
    scope.label = annotation_;
    scope.id = 0;
    recorder.enter_scope(event_.scope);
    recorder.add(scope);
    event_.scope = annotation_;
  }
  recorder.add(event_);
}

}  // namespace tern
