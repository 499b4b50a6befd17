// MTLCommandQueue: a stream of the emulated machine. Command buffers that were committed run when something waits.
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
  // Lets go of command buffers that have finished.
  void reap();

  int device;
  std::uint64_t stream = 0;                  // of the machine
  std::deque<Ref<CommandBuffer>> committed;  // in order, not finished
  std::uint64_t open = 0;                    // command buffers that were made and have not finished
};

Object* new_queue(int device);

}  // namespace tern::emulator::metal
