// Calls of translated kernels with arguments from a launch's parameter block. Included before the kernel's source.
#pragma once

#include "tests/gpu/kernel.h"
#include "tests/gpu/metal/shim/block.h"

namespace tern {
namespace emulator {
namespace metal {
namespace shim {

// The I-th parameter of a kernel.
template <unsigned I, class F>
struct ParameterOf;
template <unsigned I, class First, class... Rest>
struct ParameterOf<I, void (*)(First, Rest...)> : ParameterOf<I - 1, void (*)(Rest...)> {};
template <class First, class... Rest>
struct ParameterOf<0, void (*)(First, Rest...)> {
  typedef First type;
};

inline char* place(const tern_emulated_launch* launch, const char* kernel, unsigned index, unsigned alignment) {
  const Slot& slot = reinterpret_cast<const Block*>(launch->parameters)->slots[index];
  char* at = slot.inside != 0 ? const_cast<char*>(launch->parameters) + slot.at : reinterpret_cast<char*>(slot.at);
  // setBuffer: the offset is a multiple of the size of the elements.
  if (slot.inside == 0 && reinterpret_cast<uint64_t>(at) % alignment != 0)
    launch->services->trap(launch->machine, kernel, "a buffer is not aligned to its elements");
  return at;
}

// Pointers and references of a kernel's parameters.
template <class T>
struct Buffer;
template <class T>
struct Buffer<T*> {
  static T* get(const tern_emulated_launch* l, const char* kernel, unsigned index) {
    return reinterpret_cast<T*>(place(l, kernel, index, alignof(T)));
  }
};
template <class T>
struct Buffer<T&> {
  static T& get(const tern_emulated_launch* l, const char* kernel, unsigned index) {
    return *reinterpret_cast<T*>(place(l, kernel, index, alignof(T)));
  }
};

}  // namespace shim
}  // namespace metal
}  // namespace emulator
}  // namespace tern
