// MTLDevice: an emulated GPU, similar to Apple silicon.
#pragma once

#include <cstdint>

#include "tests/gpu/metal/object.h"

namespace tern::emulator::metal {

struct Device : Object {
  explicit Device(int index);

  Object* name();
  bool supports(std::int64_t family);
  bool unified() { return true; }
  std::uint64_t working_set();
  std::uint64_t largest_buffer();
  std::uint64_t allocated();

  Object* buffer(std::uint64_t bytes, std::uint64_t options);
  Object* buffer_of(const void* from, std::uint64_t bytes, std::uint64_t options);
  Object* queue();
  Object* shared_event();
  Object* library(Object* text, Object* options, Object** error);
  Object* pipeline(Object* function, Object** error);
  // Metal 4.
  Object* queue4();
  Object* allocator4();
  Object* command_buffer4();
  Object* argument_table4(Object* descriptor, Object** error);
  Object* residency_set(Object* descriptor, Object** error);

  int index;
};

}  // namespace tern::emulator::metal
