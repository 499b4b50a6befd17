// MTLSharedEvent: a growing number, set and awaited by command buffers.
#pragma once

#include <cstdint>
#include <map>

#include "tests/gpu/metal/object.h"

namespace tern::emulator::metal {

struct SharedEvent : Object {
  SharedEvent();
  ~SharedEvent();

  std::uint64_t signaled();
  // Called by the host.
  void set_signaled(std::uint64_t value);
  bool wait_until(std::uint64_t value, std::uint64_t milliseconds);

  // Records that the machine's event sets the number to `value`.
  void add_signal(std::uint64_t value, std::uint64_t event);
  // The machine's event recorded where the number reaches `value`. Ends the program if no committed command buffer
  // signals the value.
  std::uint64_t need_signal(std::uint64_t value) const;

  std::map<std::uint64_t, std::uint64_t> signals;  // events of the machine by value
};

Object* new_shared_event();

}  // namespace tern::emulator::metal
