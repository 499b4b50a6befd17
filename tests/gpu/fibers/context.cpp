#include "tests/gpu/fibers/context.h"

#include <cstdint>

namespace tern::fibers {

#if defined(__x86_64__)

// The System V ABI: rbx, rbp and r12 to r15 are the callee's to keep. The rounding mode is the same everywhere here.
extern "C" void tern_fibers_switch(void** from, void* to);
asm(R"(
.text
.type tern_fibers_switch, @function
.hidden tern_fibers_switch
.globl tern_fibers_switch
tern_fibers_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size tern_fibers_switch, .-tern_fibers_switch
)");

void prepare(Context& context, char* stack, std::size_t bytes, void (*entry)()) {
  auto* top = reinterpret_cast<void**>((reinterpret_cast<std::uintptr_t>(stack) + bytes) & ~std::uintptr_t{15});
  *--top = nullptr;  // return address of entry: entry starts as after a call, 8 bytes off a multiple of 16
  *--top = reinterpret_cast<void*>(entry);
  for (int i = 0; i < 6; ++i) *--top = nullptr;
  context.stack_pointer = top;
}

void switch_to(Context& from, Context& to) {
  tern_fibers_switch(&from.stack_pointer, to.stack_pointer);
}

#else

void prepare(Context& context, char* stack, std::size_t bytes, void (*entry)()) {
  getcontext(&context.context);
  context.context.uc_stack.ss_sp = stack;
  context.context.uc_stack.ss_size = bytes;
  context.context.uc_link = nullptr;
  makecontext(&context.context, entry, 0);
}

void switch_to(Context& from, Context& to) {
  swapcontext(&from.context, &to.context);
}

#endif

}  // namespace tern::fibers
