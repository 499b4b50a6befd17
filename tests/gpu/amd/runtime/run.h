// Runs a grid: threads one after the other, or in turns if the threads of a block wait for each other.
#ifndef TERN_TESTS_GPU_AMD_RUNTIME_RUN_H
#define TERN_TESTS_GPU_AMD_RUNTIME_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tests/gpu/kernel.h"

enum { kWave = 64, kMostThreads = 1024, kLocalMemory = 64 << 10, kGuard = 256 };

// A kernel of the library; ir/entries.cpp writes these.
struct tern_program {
  const char* name;
  void (*thread)(const char* parameters);
  uint64_t local_bytes;  // static variables in local memory
  uint32_t groups;
};

// "Code Object V5 Hidden Kernel Arguments" (LLVM, User Guide for AMDGPU Backend): offset, size and name of each.
struct tern_hidden {
  uint32_t block_count[3];  // 0
  uint16_t group_size[3];   // 12
  uint16_t remainder[3];    // 18
  uint8_t reserved_24[16];
  uint64_t global_offset[3];  // 40
  uint16_t grid_dims;         // 64
  uint8_t reserved_66[6];
  uint64_t printf_buffer, hostcall_buffer, multigrid_sync, heap, default_queue, completion_action;  // 72
  uint32_t dynamic_lds_size;                                                                        // 120
  uint8_t reserved_124[68];
  uint32_t private_base, shared_base;  // 192
  uint64_t queue;                      // 200
  uint8_t reserved_208[48];
};
_Static_assert(offsetof(struct tern_hidden, global_offset) == 40 && offsetof(struct tern_hidden, printf_buffer) == 72 &&
                   offsetof(struct tern_hidden, private_base) == 192 && sizeof(struct tern_hidden) == 256,
               "the offsets of the guide");

// hsa_kernel_dispatch_packet_t (HSA Runtime Programmer's Reference, 2.7.1).
struct tern_packet {
  uint16_t header, setup, workgroup_size[3], reserved0;
  uint32_t grid_size[3];  // threads
  uint32_t private_segment_size, group_segment_size;
  uint64_t kernel_object, kernarg_address, reserved2, completion_signal;
};

// State of the running thread, one per host thread, since several streams run concurrently.
struct tern_place {
  const tern_emulated_launch* launch;
  const struct tern_program* program;
  uint32_t group[3];
  uint32_t item[3];
  uint32_t linear;  // index in the block, "x + y * size.x + z * size.x * size.y"; modulo 64: the lane
  char* locals;
  struct tern_hidden hidden;
  struct tern_packet packet;
};
static _Thread_local struct tern_place tern_now;

_Noreturn static void tern_fail(const char* why) {
  tern_now.launch->services->trap(tern_now.launch->machine, tern_now.program->name, why);
  __builtin_trap();
}

static void tern_begin_launch(const tern_emulated_launch* launch, const struct tern_program* program, char* locals) {
  memset(&tern_now, 0, sizeof tern_now);
  tern_now.launch = launch;
  tern_now.program = program;
  tern_now.locals = locals;
  struct tern_hidden* hidden = &tern_now.hidden;
  struct tern_packet* packet = &tern_now.packet;
  for (int i = 0; i < 3; ++i) {
    hidden->block_count[i] = launch->grid[i];
    hidden->group_size[i] = (uint16_t)launch->block[i];
    packet->workgroup_size[i] = (uint16_t)launch->block[i];
    packet->grid_size[i] = launch->grid[i] * launch->block[i];
  }
  hidden->grid_dims = launch->grid[2] * launch->block[2] > 1 ? 3 : launch->grid[1] * launch->block[1] > 1 ? 2 : 1;
  hidden->dynamic_lds_size = launch->local_bytes;
  hidden->shared_base = (uint32_t)((uintptr_t)locals >> 32);
  packet->setup = hidden->grid_dims;
  packet->group_segment_size = (uint32_t)program->local_bytes + launch->local_bytes;
  packet->kernarg_address = (uintptr_t)launch->parameters;
}

static void tern_set_thread(uint32_t linear) {
  const uint32_t* block = tern_now.launch->block;
  tern_now.linear = linear;
  tern_now.item[0] = linear % block[0];
  tern_now.item[1] = linear / block[0] % block[1];
  tern_now.item[2] = linear / block[0] / block[1];
}

// "Local memory is not initialized": NaN of every width, and -1, expose reads of unwritten memory.
enum { kPoison = 0xFF };

static uint64_t tern_local_bytes(void) {
  return tern_now.program->local_bytes + tern_now.launch->local_bytes;
}

static void tern_begin_block(void) {
  const uint64_t bytes = tern_local_bytes();
  if (bytes != 0) memset(tern_now.locals, kPoison, bytes + kGuard);
}

static void tern_end_block(void) {
  const uint64_t bytes = tern_local_bytes();
  for (uint64_t i = 0; bytes != 0 && i < kGuard; ++i) {
    if ((uint8_t)tern_now.locals[bytes + i] != kPoison) tern_fail("writes behind the end of its local memory");
  }
}

#include "fibers.h"

static void tern_run_block(uint32_t threads) {
  const struct tern_program* program = tern_now.program;
  tern_begin_block();
  if (program->groups) {
    tern_run_fibers(threads);
  } else {
    for (uint32_t t = 0; t < threads; ++t) {
      tern_set_thread(t);
      program->thread(tern_now.launch->parameters);
    }
  }
  tern_end_block();
}

void tern_run(const tern_emulated_launch* launch, const struct tern_program* program, char* locals) {
  tern_begin_launch(launch, program, locals);
  if (tern_local_bytes() > kLocalMemory)
    tern_fail("needs more than the 64 KiB of local memory that a compute unit has");
  const uint32_t threads = launch->block[0] * launch->block[1] * launch->block[2];
  if (threads == 0 || threads > kMostThreads)
    tern_fail("is launched with no threads, or with more than 1,024 in a block");
  if (program->groups) tern_make_stacks(threads);
  for (uint32_t z = 0; z < launch->grid[2]; ++z) {
    for (uint32_t y = 0; y < launch->grid[1]; ++y) {
      for (uint32_t x = 0; x < launch->grid[0]; ++x) {
        tern_now.group[0] = x;
        tern_now.group[1] = y;
        tern_now.group[2] = z;
        tern_run_block(threads);
      }
    }
  }
  if (program->groups) tern_remove_stacks(threads);
}

#endif
