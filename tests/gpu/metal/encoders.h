// MTLComputeCommandEncoder and MTLBlitCommandEncoder.
#pragma once

#include "tests/gpu/metal/command_buffer.h"

namespace tern::emulator::metal {

// Autoreleased, like results of the command buffer's methods.
Object* new_compute_encoder(CommandBuffer& buffer);
Object* new_blit_encoder(CommandBuffer& buffer);

}  // namespace tern::emulator::metal
