// Runs the items of a launch: one after the other, or a group together, each item on a fiber.
#pragma once

#include "tests/gpu/fibers/fibers.h"
#include "tests/gpu/metal/shim/call.h"

namespace tern {
namespace emulator {
namespace metal {
namespace shim {

typedef void (*Item)(const tern_emulated_launch* launch, uint64_t item);

inline uint64_t items_of(const tern_emulated_launch* launch) {
  return reinterpret_cast<const Block*>(launch->parameters)->items;
}

#ifndef TERN_METAL_FLUSH
#define TERN_METAL_FLUSH 0
#endif
// During its lifetime, float operations flush subnormal operands and results to zero, like Apple's GPUs.
struct Flush {
  unsigned before = __builtin_ia32_stmxcsr();
  Flush() { __builtin_ia32_ldmxcsr(before | (TERN_METAL_FLUSH ? 0x8040 : 0)); }
  ~Flush() { __builtin_ia32_ldmxcsr(before); }
  Flush(const Flush&) = delete;
  Flush& operator=(const Flush&) = delete;
};

inline void run_items(const tern_emulated_launch* launch, Item run, const char*) {
  const Flush flush;
  const uint64_t items = items_of(launch);
  for (uint64_t item = 0; item < items; ++item) run(launch, item);
}

struct Group {
  const tern_emulated_launch* launch;
  Item run;
  const char* kernel;
  uint64_t first;
};

inline void run_fiber(void* user, uint32_t thread) {
  const Group* group = static_cast<const Group*>(user);
  group->run(group->launch, group->first + thread);
}

inline void deadlock(void* user, const char* why) {
  const Group* group = static_cast<const Group*>(user);
  group->launch->services->trap(group->launch->machine, group->kernel, why);
}

// The section of all `threadgroup` variables of a source, located by the linker.
extern "C" __attribute__((weak, visibility("hidden"))) char __start_tern_threadgroup[], __stop_tern_threadgroup[];
constexpr long kThreadgroupBytes = 32 << 10;  // Metal Feature Set Tables: total threadgroup memory

// dispatchThreads: the last group may be smaller.
inline void run_groups(const tern_emulated_launch* launch, Item run, const char* kernel) {
  if (__stop_tern_threadgroup - __start_tern_threadgroup > kThreadgroupBytes)
    launch->services->trap(launch->machine, kernel, "it has more than 32 KiB of threadgroup memory");
  const Flush flush;
  const uint64_t items = items_of(launch), size = launch->block[0];
  for (uint64_t first = 0; first < items; first += size) {
    Group group = {launch, run, kernel, first};
    const uint64_t threads = items - first < size ? items - first : size;
    const tern_fibers block = {
        static_cast<uint32_t>(threads), 32, static_cast<uint32_t>(first / size % 2), run_fiber, deadlock, &group};
    tern_fibers_run(&block);
  }
}

inline void barrier() {
  tern_fibers_barrier(0, 0, 0, 0);
}

inline void give_to_partners(uint64_t lanes, tern_fibers_words words, void* user) {
  const unsigned mask = *static_cast<const unsigned*>(user);
  tern_fibers_words given;
  __builtin_memcpy(given, words, sizeof given);
  for (unsigned lane = 0; lane < 64; ++lane) {
    const unsigned from = lane ^ mask;
    // Reading from a missing lane is undefined: here all ones.
    if (from < 64 && (lanes >> from & 1) != 0) {
      __builtin_memcpy(words[lane], given[from], sizeof given[from]);
    } else {
      __builtin_memset(words[lane], 0xff, sizeof words[lane]);
    }
  }
}

template <class T>
T exchange(T value, unsigned mask) {
  uint32_t words[(sizeof(T) + 3) / 4] = {};
  __builtin_memcpy(words, &value, sizeof value);
  tern_fibers_exchange(tern_fibers_lanes(), give_to_partners, mask, &mask, words, sizeof words / 4, "simd_shuffle_xor",
                       0);
  __builtin_memcpy(&value, words, sizeof value);
  return value;
}

}  // namespace shim
}  // namespace metal
}  // namespace emulator
}  // namespace tern
