#include <tern/error.h>

#include "runtime/stream.h"

namespace tern {

Event::Event() : impl_(std::make_shared<EventImpl>()) {}

void Event::record(const Stream& stream) {
  EventImpl& e = *impl_;
  if (stream.is_capturing()) fail(ErrorCode::invalid_argument, "an event cannot be recorded during a capture");
  e.event = stream.impl()->device_stream->record();
  e.stream = stream.impl();
}

bool Event::query() const {
  return impl_->event == nullptr || impl_->event->happened();
}

void Event::synchronize() const {
  if (impl_->event != nullptr) impl_->event->synchronize();
}

double Event::seconds_until(const Event& end) const {
  const EventImpl &a = *impl_, &b = *end.impl_;
  if (a.event == nullptr || b.event == nullptr ||
      &a.stream->device_stream->device() != &b.stream->device_stream->device())
    fail(ErrorCode::invalid_argument, "the time between two events needs both on the same device");
  if (!query() || !end.query())
    fail(ErrorCode::invalid_argument, "at least one of the two events has not happened yet");
  return a.event->seconds_until(*b.event);
}

void Stream::wait(const Event& event) const {
  if (is_capturing()) fail(ErrorCode::invalid_argument, "a stream cannot wait for an event during a capture");
  const EventImpl& e = *event.impl();
  if (e.event == nullptr || e.stream == impl_) return;
  if (&impl_->device_stream->device() == &e.stream->device_stream->device()) {
    impl_->device_stream->wait(*e.event);
  } else {
    event.synchronize();  // the host waits for another device
  }
}

}  // namespace tern
