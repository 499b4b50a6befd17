// Stacks with suspended functions, and switches between stacks.
#pragma once

#include <cstddef>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace tern::fibers {

#if defined(__x86_64__)

// The stack pointer; callee-saved registers are on the stack.
struct Context {
  void* stack_pointer = nullptr;
};

#else

struct Context {
  ucontext_t context;
};

#endif

// Makes a context that calls entry() on a stack; entry never returns.
void prepare(Context& context, char* stack, std::size_t bytes, void (*entry)());
// Continues with `to`, until a switch to `from`.
void switch_to(Context& from, Context& to);

}  // namespace tern::fibers
