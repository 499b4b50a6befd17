// Addresses of the emulated device are numbers, and pointers of the host at the same time.
#pragma once

#include <cstdint>

namespace tern::emulator {

template <class T = char>
T* pointer(uint64_t address) {
  return reinterpret_cast<T*>(address);  // NOLINT(performance-no-int-to-ptr)
}

}  // namespace tern::emulator
