#include <tern/error.h>

#include "kernels/portable/failure.h"
#include "runtime/stream.h"

namespace tern {

using Clock = std::chrono::steady_clock;

EventImpl::~EventImpl() {
  clear();
}

void EventImpl::clear() noexcept {
  if (event == nullptr) return;
  Device& d = stream->work->device();
  if (d.plugin().event_synchronize(d.index(), event) != TERN_DEVICE_OK)
    stream->work->settle();  // `failure` is written by then
  d.plugin().event_destroy(d.index(), event);
  event = nullptr;
}

Event::Event() : impl_(std::make_shared<EventImpl>()) {}

void Event::record(const Stream& stream) {
  EventImpl& e = *impl_;
  if (stream.is_capturing()) fail(ErrorCode::invalid_argument, "an event cannot be recorded during a capture");
  const bool same = e.stream != nullptr && e.stream->device == stream.device();
  if (!same) e.clear();
  DeviceStream* work = stream.impl()->work.get();
  if (work != nullptr) {
    Device& d = work->device();
    if (e.event == nullptr) {
      d.check(d.plugin().event_create(d.index(), &e.event), "making an event");
    } else {
      d.check(d.plugin().event_synchronize(d.index(), e.event), "waiting for an event");
    }
    e.stream = stream.impl();
    work->enqueue_failure(&e.failure);
    d.check(d.plugin().event_record(d.index(), e.event, work->handle()), "recording an event");
  }
  e.stream = stream.impl();
  e.time = Clock::now();
}

bool Event::query() const {
  const EventImpl& e = *impl_;
  if (e.event == nullptr) return true;
  Device& d = e.stream->work->device();
  if (d.events() == nullptr) {
    d.check(d.plugin().event_synchronize(d.index(), e.event), "waiting for an event");
    return true;
  }
  std::int32_t happened = 0;
  d.check(d.events()->query(d.index(), e.event, &happened), "asking for an event");
  return happened != 0;
}

void Event::synchronize() const {
  const EventImpl& e = *impl_;
  if (e.event == nullptr) return;
  Device& d = e.stream->work->device();
  d.check(d.plugin().event_synchronize(d.index(), e.event), "waiting for an event");
  if (e.failure != 0) fail(ErrorCode::runtime, std::string(portable::failure_message(e.failure)));
}

double Event::seconds_until(const Event& end) const {
  const EventImpl &a = *impl_, &b = *end.impl_;
  if (a.stream == nullptr || b.stream == nullptr || a.stream->device != b.stream->device)
    fail(ErrorCode::invalid_argument, "the time between two events needs both to be recorded on one device");
  if (a.event == nullptr) return std::chrono::duration<double>(b.time - a.time).count();
  Device& d = a.stream->work->device();
  if (d.events() == nullptr) fail(ErrorCode::unsupported, d.name() + " has no clock for events");
  if (!query() || !end.query())
    fail(ErrorCode::invalid_argument, "at least one of the two events has not happened yet");
  double seconds = 0;
  d.check(d.events()->elapsed(d.index(), a.event, b.event, &seconds), "asking for the time between events");
  return seconds;
}

void Stream::wait(const Event& event) const {
  if (is_capturing()) fail(ErrorCode::invalid_argument, "a stream cannot wait for an event during a capture");
  const EventImpl& e = *event.impl();
  if (e.event == nullptr || e.stream == impl_) return;
  Device& d = e.stream->work->device();
  if (impl_->work != nullptr && &impl_->work->device() == &d) {
    d.check(d.plugin().stream_wait(d.index(), impl_->work->handle(), e.event), "waiting for an event");
  } else {
    event.synchronize();  // another device's: the host waits
  }
}

}  // namespace tern
