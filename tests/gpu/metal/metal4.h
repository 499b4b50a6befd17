// The classes of Metal 4 used by the plugin, from macOS 26 on.
#pragma once

#include <cstdint>

#include "tests/gpu/metal/object.h"

namespace tern::emulator::metal {

// newMTL4CommandQueue, newCommandAllocator, newCommandBuffer, newArgumentTableWithDescriptor:error:,
// newResidencySetWithDescriptor:error:
Object* new_queue4(int device);
Object* new_allocator4();
Object* new_command_buffer4();
Object* new_argument_table4(Object* descriptor);
Object* new_residency_set();

// Reports finished command buffers to the program.
void give_feedback();

}  // namespace tern::emulator::metal
