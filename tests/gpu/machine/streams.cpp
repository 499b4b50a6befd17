// Streams and events. Work runs as late as possible: only when a call waits for the work, and no other work.
#include <algorithm>

#include "tests/gpu/machine/machine.h"

namespace tern::emulator {

uint64_t Machine::create_stream(const std::shared_ptr<Context>& context, unsigned flags) {
  auto stream = std::make_shared<Stream>();
  stream->context = context;
  stream->flags = flags;
  stream->handle = streams_.add(stream);
  return stream->handle;
}

std::shared_ptr<Stream> Machine::stream(uint64_t handle) const {
  // The null stream is 0, CU_STREAM_LEGACY 1 and CU_STREAM_PER_THREAD 2.
  if (handle <= 2) {
    refuse(Status::not_supported, "the default streams are not emulated: create a stream (handle %d was given)",
           static_cast<int>(handle));
  }
  std::shared_ptr<Stream> stream = streams_.get(handle);
  if (stream->detached) refuse(Status::stream_detached, "the green context of the stream was destroyed");
  return stream;
}

// cuStreamDestroy: "In case the device is still doing work in the stream [...] the function will return immediately and
// the resources associated with hStream will be released automatically once the device has completed all work".
void Machine::destroy_stream(uint64_t handle) {
  const std::shared_ptr<Stream> stream = streams_.get(handle);
  if (stream->capture) {
    const std::shared_ptr<Capture> capture = stream->capture;
    invalidate(*capture, "one of its streams was destroyed");
    if (capture->origin == stream) leave_capture(*capture);
    stream->capture = nullptr;
  }
  streams_.remove(handle);
  if (!stream->queue.empty()) orphans_.push_back(stream);
}

namespace {

// "It is invalid to synchronize or query the execution status of a stream which is being captured" (CUDA programming
// guide, "Prohibited and Unhandled Operations").
void refuse_capturing(const Stream& stream, const char* what) {
  if (stream.capture) refuse(Status::capture_unsupported, "%s a stream that captures", what);
}

}  // namespace

void Machine::synchronize(uint64_t handle) {
  const std::shared_ptr<Stream> stream = this->stream(handle);
  if (stream->capture) invalidate(*stream->capture, "one of its streams was synchronized");
  refuse_capturing(*stream, "waits for");
  unsafe();
  run_all(*stream);
}

void Machine::query(uint64_t handle) {
  const std::shared_ptr<Stream> stream = this->stream(handle);
  if (stream->capture) invalidate(*stream->capture, "one of its streams was queried");
  refuse_capturing(*stream, "queries");
  unsafe();
  if (stream->queue.empty() && !stream->running) return;
  // Each query runs another operation, so a loop of queries ends, after as long as possible.
  if (stream->is_queried) run_one_beside(stream);
  stream->is_queried = true;
  refuse(Status::not_ready, "work waits in the stream");
}

uint64_t Machine::create_event(const std::shared_ptr<Context>& context, unsigned flags, bool timing) {
  auto event = std::make_shared<Event>();
  event->context = context;
  event->flags = flags;
  event->timing = timing;
  event->handle = events_.add(event);
  return event->handle;
}

// cuEventDestroy: "An event may be destroyed before it is complete [...] In this case, the call does not block".
void Machine::destroy_event(uint64_t handle) {
  events_.remove(handle);
}

// cuEventRecord: "Captures in hEvent the contents of hStream at the time of this call. hEvent and hStream must be from
// the same context otherwise CUDA_ERROR_INVALID_HANDLE is returned."
void Machine::record(uint64_t event_handle, uint64_t stream_handle) {
  const std::shared_ptr<Event> event = events_.get(event_handle);
  if (stream_handle <= 1) {
    // Plugins only make non-blocking streams, and the default stream never has work.
    event->capture = nullptr;
    event->dependencies.clear();
    event->record = std::make_shared<Record>();
    event->record->is_complete = true;
    return;
  }
  const std::shared_ptr<Stream> stream = this->stream(stream_handle);
  if (!same_primary(*event->context, *stream->context)) {
    refuse(Status::invalid_handle, "the event and the stream belong to different contexts");
  }
  if (stream->capture) {
    if (stream->capture->invalid) refuse(Status::capture_invalidated, "%s", stream->capture->why.c_str());
    event->capture = stream->capture;
    event->dependencies = stream->dependencies;
    event->record = nullptr;
    return;
  }
  event->capture = nullptr;
  event->dependencies.clear();
  event->record = std::make_shared<Record>();
  event->record->stream = stream;
  stream->queue.emplace_back(Signal{event->record});
  stream->is_queried = false;
}

void Machine::wait(uint64_t stream_handle, uint64_t event_handle) {
  const std::shared_ptr<Stream> stream = this->stream(stream_handle);
  const std::shared_ptr<Event> event = events_.get(event_handle);
  if (event->capture && event->capture->ended) {
    refuse(Status::captured_event, "the event was last recorded in a capture that has ended");
  }
  if (event->capture) {
    if (event->capture->invalid) refuse(Status::capture_invalidated, "%s", event->capture->why.c_str());
    if (stream->capture && stream->capture != event->capture) {
      // CUDA_ERROR_STREAM_CAPTURE_MERGE: "the operation would have resulted in a merge of two independent capture
      // sequences."
      invalidate(*stream->capture, "it waited for an event of another capture");
      invalidate(*event->capture, "another capture waited for its event");
      refuse(Status::capture_merge, "the stream and the event belong to different captures");
    }
    stream->capture = event->capture;
    for (uint64_t node : event->dependencies) {
      if (std::find(stream->dependencies.begin(), stream->dependencies.end(), node) == stream->dependencies.end()) {
        stream->dependencies.push_back(node);
      }
    }
    return;
  }
  if (stream->capture) {
    if (stream->capture->invalid) refuse(Status::capture_invalidated, "%s", stream->capture->why.c_str());
    if (!event->record) return;  // "an event represents an empty set of work"
    // CUDA_ERROR_STREAM_CAPTURE_ISOLATION: "a dependency would have been created which crosses the capture sequence
    // boundary."
    invalidate(*stream->capture, "it waited for an event that was recorded outside of it");
    refuse(Status::capture_isolation, "a capturing stream waits for an event that was recorded outside of the capture");
  }
  // cuEventRecord: "cuStreamWaitEvent() use the most recently captured state at the time of the API call".
  if (!event->record || event->record->is_complete) return;
  stream->queue.emplace_back(Wait{event->record});
  stream->is_queried = false;
}

namespace {

// CUDA_ERROR_CAPTURED_EVENT: "The operation is not permitted on an event which was last recorded in a capturing
// stream."
void refuse_captured(const Event& event) {
  if (event.capture) refuse(Status::captured_event, "the event was last recorded in a capture");
}

}  // namespace

void Machine::synchronize_event(uint64_t handle) {
  const std::shared_ptr<Event> event = events_.get(handle);
  if (event->capture && !event->capture->ended) invalidate(*event->capture, "one of its events was waited for");
  refuse_captured(*event);
  unsafe();
  if (event->record) run_until(event->record);
}

void Machine::query_event(uint64_t handle) {
  const std::shared_ptr<Event> event = events_.get(handle);
  if (event->capture && !event->capture->ended) invalidate(*event->capture, "one of its events was queried");
  refuse_captured(*event);
  unsafe();
  if (!event->record || event->record->is_complete) return;
  const std::shared_ptr<Record> record = event->record;
  const std::shared_ptr<Stream> stream = record->stream;  // running may release the record's reference
  if (record->is_queried) run_one_beside(stream);
  record->is_queried = true;
  refuse(Status::not_ready, "work before the event has not run");
}

// cuEventElapsedTime: "If cuEventRecord() has not been called on either event then CUDA_ERROR_INVALID_HANDLE is
// returned"; not completed: "CUDA_ERROR_NOT_READY"; created with CU_EVENT_DISABLE_TIMING: "CUDA_ERROR_INVALID_HANDLE".
float Machine::elapsed(uint64_t start_handle, uint64_t end_handle) {
  const std::shared_ptr<Event> start = events_.get(start_handle), end = events_.get(end_handle);
  refuse_captured(*start);
  refuse_captured(*end);
  if (!start->timing || !end->timing) refuse(Status::invalid_handle, "an event was created without timing");
  if (!start->record || !end->record) refuse(Status::invalid_handle, "an event was never recorded");
  if (!start->record->is_complete || !end->record->is_complete)
    refuse(Status::not_ready, "work before an event has not run");
  return (static_cast<float>(end->record->time) - static_cast<float>(start->record->time)) / 1000;
}

}  // namespace tern::emulator
