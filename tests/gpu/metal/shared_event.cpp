#include "tests/gpu/metal/shared_event.h"

#include <memory>

#include "tests/gpu/metal/metal4.h"

namespace tern::emulator::metal {
namespace {

Class& shared_event_class() {
  static Class& type = make_class("MTLSharedEvent", destroy<SharedEvent>,
                                  {{"signaledValue", method<&SharedEvent::signaled>()},
                                   {"setSignaledValue:", method<&SharedEvent::set_signaled>()},
                                   {"waitUntilSignaledValue:timeoutMS:", method<&SharedEvent::wait_until>()}});
  return type;
}

}  // namespace

SharedEvent::SharedEvent() : Object(shared_event_class()) {}
SharedEvent::~SharedEvent() {
  for (const auto& [value, event] : signals) Machine::get().destroy_event(event);
}

// Each read runs another command before the next signal.
std::uint64_t SharedEvent::signaled() {
  Machine& machine = Machine::get();
  std::uint64_t last = 0;
  for (const auto& [value, event] : signals) {
    try {
      machine.query_event(event);
      last = value;
    } catch (const Failure&) {
      break;
    }
  }
  give_feedback();
  return last;
}

void SharedEvent::set_signaled(std::uint64_t value) {
  Machine& machine = Machine::get();
  for (const auto& [at, event] : signals)
    if (at <= value) machine.event(event)->record->is_complete = true;
  if (signals.empty() || signals.rbegin()->first < value)
    fatal("setSignaledValue: %d, which no command buffer was to signal: the stand-in has no use for that",
          static_cast<int>(value));
}

bool SharedEvent::wait_until(std::uint64_t value, std::uint64_t) {
  Machine::get().synchronize_event(need_signal(value));
  give_feedback();
  return true;
}

// The number only grows.
void SharedEvent::add_signal(std::uint64_t value, std::uint64_t event) {
  if (!signals.empty() && signals.rbegin()->first >= value)
    fatal("a shared event is set to %d, and was set to more before", static_cast<int>(value));
  // Earlier signals have happened by then; the last two describe the present.
  constexpr std::size_t kKept = 64;
  signals[value] = event;
  while (signals.size() > kKept && Machine::get().event(signals.begin()->second)->record->is_complete) {
    Machine::get().destroy_event(signals.begin()->second);
    signals.erase(signals.begin());
  }
}

std::uint64_t SharedEvent::need_signal(std::uint64_t value) const {
  const auto at = signals.lower_bound(value);
  if (at == signals.end()) fatal("a command buffer waits for a signal that none was committed with");
  return at->second;
}

Object* new_shared_event() {
  return std::make_unique<SharedEvent>().release();
}

}  // namespace tern::emulator::metal
