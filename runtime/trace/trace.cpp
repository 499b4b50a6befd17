// Public functions of tern/trace.h.
#include <tern/error.h>
#include <tern/trace.h>

#include <bit>

#include "runtime/trace/recorder.h"
#include "runtime/trace/text.h"

namespace tern {

Trace::Trace(const std::string& path, const TraceOptions& options)
    : recorder_(std::make_shared<TraceRecorder>(&path, options)) {
  TraceRecorder::start(recorder_);
}

Trace::Trace(const TraceOptions& options) : recorder_(std::make_shared<TraceRecorder>(nullptr, options)) {
  TraceRecorder::start(recorder_);
}

Trace::~Trace() {
  try {
    stop();
  } catch (const std::exception&) {
    // Callers interested in errors call stop().
  }
}

TraceStats Trace::stop() {
  if (recorder_ == nullptr || (recorder_->records_in_memory() && TraceRecorder::active() != recorder_)) return stats_;
  const auto recorder = recorder_;
  if (!recorder->records_in_memory()) recorder_ = nullptr;
  stats_ = recorder->stop();
  return stats_;
}

std::vector<TraceRecord> Trace::events() const {
  if (recorder_ == nullptr || !recorder_->records_in_memory())
    fail(ErrorCode::invalid_argument, "Trace::events: this trace writes its events to a file");
  if (TraceRecorder::active() == recorder_)
    fail(ErrorCode::invalid_argument, "Trace::events: the trace still records: call stop() first");
  return recorder_->events();
}

bool Trace::active() {
  return TraceRecorder::active() != nullptr;
}

void Trace::counter(std::string_view name, std::string_view series, double value) {
  const auto recorder = TraceRecorder::active();
  if (recorder == nullptr) return;
  TraceEvent e;
  e.kind = EventKind::counter;
  e.begin = e.end = steady_nanoseconds();
  e.label = recorder->series(name, series);
  if (e.label == nullptr) return recorder->drop();
  e.correlation = std::bit_cast<std::uint64_t>(value);
  recorder->add(e);
}

void Trace::describe(std::string_view key, std::string_view value) {
  if (const auto recorder = TraceRecorder::active()) recorder->describe(key, value);
}

Trace::Scope::Scope(std::string_view name) : recorder_(TraceRecorder::active()) {
  if (recorder_ == nullptr) return;
  const EventLabel* label = recorder_->scope_named(name);
  label_ = label;
  outer_ = recorder_->enter_scope(label);
  begin_ = steady_nanoseconds();
}

Trace::Scope::~Scope() {
  if (recorder_ == nullptr) return;
  TraceEvent e;
  e.kind = EventKind::scope;
  e.begin = begin_;
  e.end = steady_nanoseconds();
  e.label = static_cast<const EventLabel*>(label_);
  recorder_->enter_scope(static_cast<const EventLabel*>(outer_));
  recorder_->add(e);
}

}  // namespace tern
