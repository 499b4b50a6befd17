// Blocks of Apple's C dialects in clang's layout ("Block Implementation Specification" of clang's documentation).
#pragma once

#include <cstddef>

namespace tern::emulator::metal {

struct Block;

// Makes a copy that outlives the block's function, and destroys the copy.
Block* copy_block(const Block* block);
void end_block(Block* block);
// Calls a block with a single object parameter.
void call_block(Block* block, void* argument);

}  // namespace tern::emulator::metal
