// The parameters of a Metal kernel launch: addresses of all buffers. Written by the stand-in, read by translated
// kernels.
#pragma once

#include <stdint.h>

namespace tern {
namespace emulator {
namespace metal {
namespace shim {

constexpr unsigned kBuffers = 31;  // Metal Feature Set Tables: buffers of a kernel

struct Slot {
  uint64_t at;      // an address, or bytes from the beginning of the block
  uint64_t inside;  // 1: from the beginning
};

struct Block {
  uint64_t items;
  Slot slots[kBuffers];
};

}  // namespace shim
}  // namespace metal
}  // namespace emulator
}  // namespace tern
