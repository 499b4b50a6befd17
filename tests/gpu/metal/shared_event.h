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
  // The machine's event that is recorded where the number becomes `value` or more; 0 if no command buffer that was
  // committed so far does that.
  std::uint64_t signal_of(std::uint64_t value) const;

  std::map<std::uint64_t, std::uint64_t> signals;  // events of the machine by value
};

Object* new_shared_event();

}  // namespace tern::emulator::metal
