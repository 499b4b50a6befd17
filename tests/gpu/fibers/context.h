// A stack with what runs on it, and switching among them.
#pragma once

#include <cstddef>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace tern::fibers {

#if defined(__x86_64__)

// The stack pointer; the registers that a call keeps are on the stack.
struct Context {
  void* stack_pointer = nullptr;
};

#else

struct Context {
  ucontext_t context;
};

#endif

// A context that calls entry() on a stack; entry never returns.
void prepare(Context& context, char* stack, std::size_t bytes, void (*entry)());
// Goes on with `to`, until something switches to `from`.
void switch_to(Context& from, Context& to);

}  // namespace tern::fibers
