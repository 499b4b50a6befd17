#include "tests/gpu/metal/shared_event.h"

#include <memory>

namespace tern::emulator::metal {
namespace {

Class& shared_event_class() {
  static Class& type =
      make_class("MTLSharedEvent", destroy<SharedEvent>, {{"signaledValue", method<&SharedEvent::signaled>()}});
  return type;
}

}  // namespace

SharedEvent::SharedEvent() : Object(shared_event_class()) {}
SharedEvent::~SharedEvent() {
  for (const auto& [value, event] : signals) Machine::get().destroy_event(event);
}

std::uint64_t SharedEvent::signaled() {
  std::uint64_t last = 0;
  for (const auto& [value, event] : signals)
    if (Machine::get().event(event)->record->done) last = value;
  return last;
}

std::uint64_t SharedEvent::signal_of(std::uint64_t value) const {
  const auto at = signals.lower_bound(value);
  return at == signals.end() ? 0 : at->second;
}

Object* new_shared_event() {
  return std::make_unique<SharedEvent>().release();
}

}  // namespace tern::emulator::metal
