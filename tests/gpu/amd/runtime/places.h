// Position of a thread: its numbers, the sizes of the launch, its memory.
#ifndef TERN_TESTS_GPU_AMD_RUNTIME_PLACES_H
#define TERN_TESTS_GPU_AMD_RUNTIME_PLACES_H

#include <time.h>

#include "run.h"

uint32_t tern_amdgcn_workitem_id_x(void) {
  return tern_now.item[0];
}
uint32_t tern_amdgcn_workitem_id_y(void) {
  return tern_now.item[1];
}
uint32_t tern_amdgcn_workitem_id_z(void) {
  return tern_now.item[2];
}
uint32_t tern_amdgcn_workgroup_id_x(void) {
  return tern_now.group[0];
}
uint32_t tern_amdgcn_workgroup_id_y(void) {
  return tern_now.group[1];
}
uint32_t tern_amdgcn_workgroup_id_z(void) {
  return tern_now.group[2];
}
const void* tern_amdgcn_implicitarg_ptr(void) {
  return &tern_now.hidden;
}
const void* tern_amdgcn_dispatch_ptr(void) {
  return &tern_now.packet;
}
const void* tern_amdgcn_kernarg_segment_ptr(void) {
  return tern_now.launch->parameters;
}
uint64_t tern_amdgcn_dispatch_id(void) {
  return 0;
}
uint32_t tern_amdgcn_groupstaticsize(void) {
  return (uint32_t)tern_now.program->local_bytes;
}
uint32_t tern_amdgcn_wavefrontsize(void) {
  return kWave;
}

// "V_MBCNT_LO_U32: masked bit count of the lower 32 threads (threads 0-31)" (CDNA 3 ISA): bits of the mask below the
// thread.
static uint32_t tern_lane(void) {
  return tern_now.linear % kWave;
}
uint32_t tern_amdgcn_mbcnt_lo(uint32_t mask, uint32_t add) {
  const uint32_t lane = tern_lane();
  return add + (uint32_t)__builtin_popcount(lane >= 32 ? mask : mask & ((1u << lane) - 1));
}
uint32_t tern_amdgcn_mbcnt_hi(uint32_t mask, uint32_t add) {
  const uint32_t lane = tern_lane();
  return lane < 32 ? add : add + (uint32_t)__builtin_popcount(mask & ((1u << (lane - 32)) - 1));
}

uint32_t tern_amdgcn_is_shared(const char* address) {
  return address >= tern_now.locals && address < tern_now.locals + kLocalMemory + kGuard;
}
uint32_t tern_amdgcn_is_private(const char* address) {
  const char* here = (const char*)__builtin_frame_address(0);
  return address > here - (1 << 20) && address < here + (1 << 20);
}

// Extends a pointer of 32 bits near `base`, for a kernel's pointers to local and private memory.
static char* tern_near(char* base, uint32_t low) {
  return base + (int32_t)(low - (uint32_t)(uintptr_t)base);
}
char* tern_local_pointer(char* locals, uint32_t low) {
  return tern_near(locals, low);
}
char* tern_private_pointer(uint32_t low) {
  return tern_near((char*)__builtin_frame_address(0), low);
}

// "S_MEMREALTIME: the real time counter", 100 MHz on gfx942; S_MEMTIME counts the clock of the shader.
static uint64_t tern_nanoseconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}
uint64_t tern_amdgcn_s_memrealtime(void) {
  return tern_nanoseconds() / 10;
}
uint64_t tern_amdgcn_s_memtime(void) {
  return tern_nanoseconds();
}

void tern_trap(void) {
  tern_fail("a trap instruction");
}
void tern_debugtrap(void) {
  tern_fail("a trap instruction");
}
void tern_ubsantrap(uint32_t code) {
  tern_fail("undefined behaviour that the compiler checks for");
}
void tern_failed_assertion(void) {
  tern_fail("a failed assertion");
}
void tern_print_without_host(void) {
  tern_fail("calls printf, which the emulator lacks");
}

#endif
