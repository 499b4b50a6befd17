// Events: shared Metal events for waiting streams, and the submission ending with the record for the host.
#include "devices/metal/handles.h"
#include "devices/metal/status.h"
#include "devices/metal/streams.h"

namespace tern::metal {

tern_device_status event_create(std::int32_t device, tern_device_event* event) {
  const Pool pool;
  const MetalDevice* d = find(device);
  if (d == nullptr) return TERN_DEVICE_INVALID;
  auto made = std::make_unique<tern_device_event_s>();
  made->event = adopt(d->device->newSharedEvent());
  if (!made->event) return failed(TERN_DEVICE_FAILED, "Metal has no more events");
  *event = made.release();
  return TERN_DEVICE_OK;
}

tern_device_status event_destroy(std::int32_t, tern_device_event event) {
  const Pool pool;
  const std::unique_ptr<tern_device_event_s> ends(event);
  return TERN_DEVICE_OK;
}

tern_device_status event_record(std::int32_t, tern_device_event event, tern_device_stream stream) {
  const Pool pool;
  event->stream = stream->stream;
  event->submission = stream->stream->record(*event->event, ++event->value);
  return TERN_DEVICE_OK;
}

tern_device_status event_synchronize(std::int32_t, tern_device_event event) {
  const Pool pool;
  return event->submission ? event->stream->finish(event->submission) : TERN_DEVICE_OK;
}

tern_device_status stream_wait(std::int32_t, tern_device_stream stream, tern_device_event event) {
  const Pool pool;
  if (!event->submission || event->stream == stream->stream) return TERN_DEVICE_OK;  // ordered within the stream
  if (!event->submission->finished()) {
    stream->stream->wait_for(*event->event, event->value);
    return TERN_DEVICE_OK;
  }
  return event->stream->finish(event->submission);  // events of failed submissions are never signalled
}

namespace {

/// The event is signalled shortly before its submission counts as finished, and not at all after a failure.
tern_device_status query(std::int32_t, tern_device_event event, std::int32_t* happened) {
  const Pool pool;
  const bool yes = event->event->signaledValue() >= event->value || event->submission->finished();
  *happened = yes ? 1 : 0;
  return *happened != 0 ? event_synchronize(0, event) : TERN_DEVICE_OK;
}

tern_device_status elapsed(std::int32_t, tern_device_event from, tern_device_event to, double* seconds) {
  const Pool pool;
  if (!from->submission || !to->submission) return failed(TERN_DEVICE_INVALID, "an event was never recorded");
  for (const tern_device_event event : {from, to}) event->submission->wait();  // times are available afterwards
  *seconds = to->submission->times().end - from->submission->times().end;
  return TERN_DEVICE_OK;
}

constexpr tern_device_event_functions kEvents = {sizeof kEvents, 0, query, elapsed};

}  // namespace

const tern_device_event_functions* event_functions() {
  return &kEvents;
}

}  // namespace tern::metal
