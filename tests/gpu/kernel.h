/* Format of compiled kernels of the emulated GPUs. The translators (ptx/, amd/, metal/) make shared libraries with the
 * export tern_emulated_kernels; the machine (machine/) loads and runs the libraries. Plain C, included by translated
 * kernels. */
#ifndef TERN_TESTS_GPU_KERNEL_H
#define TERN_TESTS_GPU_KERNEL_H

#include <stdint.h>

#include "tests/gpu/counts.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A parameter of a kernel, as bytes of the parameter block. */
typedef struct tern_emulated_parameter {
  uint32_t offset, size;
} tern_emulated_parameter;

/* Services of the machine for running kernels. */
typedef struct tern_emulated_services {
  /* The device function cudaGraphSetConditional. */
  void (*set_conditional)(void* machine, uint64_t handle, uint32_t value);
  /* Ends the process with a message: a trap, a failed assertion, an address outside of local memory. */
  void (*trap)(void* machine, const char* kernel, const char* why);
} tern_emulated_services;

typedef struct tern_emulated_launch {
  const char* parameters; /* parameter_bytes bytes */
  uint32_t grid[3];       /* blocks */
  uint32_t block[3];      /* threads of a block */
  uint32_t local_bytes;   /* dynamic local ("shared", LDS) memory, on top of the kernel's own */
  const tern_emulated_services* services;
  void* machine;                /* the first argument of services */
  tern_emulated_counts* counts; /* null: no counting. Zeros, except for the caller's fields (counts.h) */
} tern_emulated_launch;

typedef struct tern_emulated_kernel {
  const char* name;
  uint32_t parameter_bytes, parameter_count;
  const tern_emulated_parameter* parameters;
  uint32_t local_bytes;                            /* static local memory */
  uint32_t most_threads;                           /* of a block; 0: no limit */
  uint32_t uses_groups;                            /* 1: has barriers or exchanges among threads, and runs on fibers */
  void (*run)(const tern_emulated_launch* launch); /* runs the whole grid before returning */
} tern_emulated_kernel;

/* The kernels of a library, valid while the library is loaded. */
const tern_emulated_kernel* tern_emulated_kernels(uint32_t* count);

#ifdef __cplusplus
}
#endif

#endif
