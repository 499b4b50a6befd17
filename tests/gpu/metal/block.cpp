#include "tests/gpu/metal/block.h"

#include <cstdlib>
#include <cstring>

namespace tern::emulator::metal {

namespace {

struct Descriptor {
  unsigned long reserved, size;
  // Present with the flag kHasHelpers: copy and destroy the captured variables.
  void (*copy)(void* to, const void* from);
  void (*dispose)(const void* block);
};
constexpr int kHasHelpers = 1 << 25;

}  // namespace

struct Block {
  void* isa;
  int flags, reserved;
  void (*invoke)(Block*, void*);
  Descriptor* descriptor;
};

Block* copy_block(const Block* block) {
  auto* made = static_cast<Block*>(std::malloc(block->descriptor->size));
  std::memcpy(made, block, block->descriptor->size);
  if ((block->flags & kHasHelpers) != 0) block->descriptor->copy(made, block);
  return made;
}

void end_block(Block* block) {
  if ((block->flags & kHasHelpers) != 0) block->descriptor->dispose(block);
  std::free(block);
}

void call_block(Block* block, void* argument) {
  block->invoke(block, argument);
}

}  // namespace tern::emulator::metal

// The class of a block on the stack, referenced by the compiler.
extern "C"
    __attribute__((visibility("default"))) void* _NSConcreteStackBlock[32];  // NOLINT(bugprone-reserved-identifier)
void* _NSConcreteStackBlock[32];                                             // NOLINT(bugprone-reserved-identifier)
