// MTLCommandQueue: a stream of the emulated machine. Committed command buffers run when a call waits.
#pragma once

#include <cstdint>
#include <deque>

#include "tests/gpu/metal/object.h"

namespace tern::emulator::metal {

struct CommandBuffer;

struct Queue : Object {
  explicit Queue(int device);
  ~Queue();

  Object* command_buffer();
  // Releases finished command buffers.
  void reap();

  int device;
  std::uint64_t stream = 0;                  // the machine's stream
  std::deque<Ref<CommandBuffer>> committed;  // unfinished, in order
  std::uint64_t open = 0;                    // unfinished command buffers
};

Object* new_queue(int device);

}  // namespace tern::emulator::metal
