// MTLBuffer in shared storage: memory of the emulated machine, poisoned when fresh, inaccessible when freed.
#pragma once

#include <cstdint>

#include "tests/gpu/metal/object.h"

namespace tern::emulator::metal {

struct Buffer : Object {
  Buffer(int device, std::uint64_t bytes);
  ~Buffer();

  void* contents();
  std::uint64_t gpu_address();
  std::uint64_t length() { return bytes; }

  std::uint64_t address = 0, bytes = 0;  // the address is the host's
};

// newBufferWithLength:options: and similar methods: null without memory.
Object* new_buffer(int device, std::uint64_t bytes, std::uint64_t options);
std::uint64_t allocated_bytes(int device);

}  // namespace tern::emulator::metal
