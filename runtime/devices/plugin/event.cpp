#include "runtime/devices/plugin/event.h"

#include <tern/error.h>

#include "kernels/portable/failure.h"

namespace tern {

PluginEvent::PluginEvent(PluginStream& stream) : device_(stream.device()) {
  const tern_device_plugin& plugin = device_.plugin();
  device_.check(plugin.event_create(device_.index(), &event_), "making an event");
  try {
    stream.enqueue_failure(&failure_);
    device_.check(plugin.event_record(device_.index(), event_, stream.handle()), "recording an event");
  } catch (...) {
    stream.settle();  // `failure_` is final after this wait
    plugin.event_destroy(device_.index(), event_);
    throw;
  }
}

PluginEvent::~PluginEvent() {
  const tern_device_plugin& plugin = device_.plugin();
  if (plugin.event_synchronize(device_.index(), event_) != TERN_DEVICE_OK) device_.wait();  // `failure_` is final
  plugin.event_destroy(device_.index(), event_);
}

bool PluginEvent::happened() {
  const tern_device_event_functions* events = device_.tables().events;
  if (events == nullptr) {
    device_.check(device_.plugin().event_synchronize(device_.index(), event_), "waiting for an event");
    return true;
  }
  std::int32_t happened = 0;
  device_.check(events->query(device_.index(), event_, &happened), "asking for an event");
  return happened != 0;
}

void PluginEvent::synchronize() {
  device_.check(device_.plugin().event_synchronize(device_.index(), event_), "waiting for an event");
  if (failure_ != 0) fail(ErrorCode::runtime, portable::failure_message(failure_));
}

double PluginEvent::seconds_until(const DeviceEvent& end) const {
  const tern_device_event_functions* events = device_.tables().events;
  if (events == nullptr) fail(ErrorCode::unsupported, device_.name() + " has no clock for events");
  double seconds = 0;
  const auto last = std::bit_cast<tern_device_event>(end.handle());
  device_.check(events->elapsed(device_.index(), event_, last, &seconds), "asking for the time between events");
  return seconds;
}

}  // namespace tern
