// MTLComputeCommandEncoder and MTLBlitCommandEncoder.
#pragma once

#include "tests/gpu/metal/command_buffer.h"

namespace tern::emulator::metal {

// Autoreleased, as the command buffer's methods return them.
Object* new_compute_encoder(CommandBuffer& buffer);
Object* new_blit_encoder(CommandBuffer& buffer);

}  // namespace tern::emulator::metal
