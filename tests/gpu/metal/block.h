// Blocks of Apple's C dialects, as clang lays them out ("Block Implementation Specification" of clang's documentation).
#pragma once

#include <cstddef>

namespace tern::emulator::metal {

struct Block;

// A copy that outlives the function that wrote the block, and its end.
Block* copy_block(const Block* block);
void end_block(Block* block);
// Of a block that takes one object.
void call_block(Block* block, void* argument);

}  // namespace tern::emulator::metal
