// The functions of the Objective-C runtime called by metal-cpp. A message to null returns zero; an unknown selector
// ends the process with its name.
#include <cstdlib>
#include <memory>
#include <set>

#include "tests/gpu/metal/classes.h"
#include "tests/gpu/metal/object.h"

using namespace tern::emulator;
using namespace tern::emulator::metal;

#define TERN_EXPORT extern "C" __attribute__((visibility("default")))

TERN_EXPORT const char* sel_registerName(const char* name) {
  static std::mutex mutex;
  static auto& names = *std::make_unique<std::set<std::string>>().release();
  const std::lock_guard lock(mutex);
  return names.insert(name).first->c_str();
}
TERN_EXPORT const char* sel_getName(const char* selector) {
  return selector;
}

// Null for unsupported classes, the majority of metal-cpp's classes.
TERN_EXPORT Object* objc_lookUpClass(const char* name) {
  return class_object(name);
}
TERN_EXPORT Object* objc_getProtocol(const char*) {
  return nullptr;
}

extern "C" __attribute__((visibility("hidden"))) Imp tern_metal_find(Object* self, const char* selector) {
  static std::uintptr_t (*const nothing)() = [] { return std::uintptr_t{0}; };
  if (self == nullptr) return reinterpret_cast<Imp>(nothing);
  const auto at = self->isa->methods.find(selector);
  if (at == self->isa->methods.end())
    fatal("a %s gets the message %s, which the stand-in for Metal does not know", self->isa->name.c_str(), selector);
  return at->second;
}
extern "C" __attribute__((visibility("hidden"))) void tern_metal_no_struct(void*, Object* self, const char* selector) {
  fatal("a %s gets the message %s, which returns a struct in memory: the stand-in has no such method",
        self == nullptr ? "null" : self->isa->name.c_str(), selector);
}

// Calls tern_metal_find with the first two arguments, preserves all argument registers, and jumps to the found
// function. Struct arguments stay on the unchanged stack.
asm(R"(
.text
.globl objc_msgSend
.type objc_msgSend, @function
objc_msgSend:
  push %rdi
  push %rsi
  push %rdx
  push %rcx
  push %r8
  push %r9
  sub $136, %rsp
  movups %xmm0, (%rsp)
  movups %xmm1, 16(%rsp)
  movups %xmm2, 32(%rsp)
  movups %xmm3, 48(%rsp)
  movups %xmm4, 64(%rsp)
  movups %xmm5, 80(%rsp)
  movups %xmm6, 96(%rsp)
  movups %xmm7, 112(%rsp)
  call tern_metal_find
  mov %rax, %r11
  movups (%rsp), %xmm0
  movups 16(%rsp), %xmm1
  movups 32(%rsp), %xmm2
  movups 48(%rsp), %xmm3
  movups 64(%rsp), %xmm4
  movups 80(%rsp), %xmm5
  movups 96(%rsp), %xmm6
  movups 112(%rsp), %xmm7
  add $136, %rsp
  pop %r9
  pop %r8
  pop %rcx
  pop %rdx
  pop %rsi
  pop %rdi
  jmp *%r11
.size objc_msgSend, .-objc_msgSend
.globl objc_msgSend_fpret
.type objc_msgSend_fpret, @function
objc_msgSend_fpret:
  jmp objc_msgSend
.size objc_msgSend_fpret, .-objc_msgSend_fpret
.globl objc_msgSend_stret
.type objc_msgSend_stret, @function
objc_msgSend_stret:
  push %rbp
  call tern_metal_no_struct
.size objc_msgSend_stret, .-objc_msgSend_stret
)");
