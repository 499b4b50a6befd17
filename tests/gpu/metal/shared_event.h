// MTLSharedEvent: a number that grows, which command buffers set and wait for.
#pragma once

#include <cstdint>
#include <map>

#include "tests/gpu/metal/object.h"

namespace tern::emulator::metal {

struct SharedEvent : Object {
  SharedEvent();
  ~SharedEvent();

  std::uint64_t signaled();
  // By the host.
  void set_signaled(std::uint64_t value);
  bool wait_until(std::uint64_t value, std::uint64_t milliseconds);

  // The machine's event is recorded where the number becomes `value`.
  void add_signal(std::uint64_t value, std::uint64_t event);
  // The event that is recorded where the number becomes `value` or more. Stops the program if no command buffer that
  // was committed so far does that.
  std::uint64_t need_signal(std::uint64_t value) const;

  std::map<std::uint64_t, std::uint64_t> signals;  // events of the machine by value
};

Object* new_shared_event();

}  // namespace tern::emulator::metal
