// The classes of Metal 4 that the plugin uses, from macOS 26 on.
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

// Tells programs of command buffers that have finished.
void give_feedback();

}  // namespace tern::emulator::metal
