/* Memory accesses and operations of an emulated kernel's launch. The PTX translator writes counting kernels
 * (ptx/translate.h); a launch requests counts by tern_emulated_launch::counts. Plain C.
 *
 * Words of NVIDIA's documentation: a request is one instruction of a warp, executed by the lanes that take part; global
 * memory is read and written in sectors of 32 bytes; shared memory has 32 banks of 4 bytes, and a request takes one
 * pass for each different word that the busiest bank holds ("wavefronts").
 *
 * Requests are reconstructed: the k-th execution of an instruction by each lane of a warp is one request. That is what
 * hardware does unless lanes leave a loop at different times and come back to it. */
#ifndef TERN_TESTS_GPU_COUNTS_H
#define TERN_TESTS_GPU_COUNTS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Accesses to global memory. */
typedef struct tern_emulated_accesses {
  double requests;
  double sectors;       /* touched by the requests */
  double least_sectors; /* enough for the different bytes of each request */
  double memory_bytes;  /* of the different sectors of the whole launch: memory traffic with a perfect cache */
} tern_emulated_accesses;

typedef struct tern_emulated_counts {
  /* Set by the caller: a launch with more work runs only the recorded blocks. Work is accesses to memory plus
   * floating-point operations. */
  double most_work;

  /* Figures of the launch. If only some blocks were recorded, request figures are scaled to the whole grid. */
  tern_emulated_accesses loads, stores, atomics;
  double shared_requests;
  double shared_passes;       /* 1 for each request without bank conflicts, or more for wide accesses */
  double shared_least_passes; /* without conflicts */
  double local_bytes;         /* of per-thread arrays outside registers */
  double operations;          /* floating-point operations outside of tensor cores: an fma is two */
  double tensor_operations;
  uint64_t blocks, recorded_blocks;
  uint32_t ran_whole; /* 1: all blocks ran, and memory_bytes is known; else 0 */
  /* The global memory instruction with the most excess sectors, by its line of PTX; 0: none. */
  uint32_t worst_line;
  double worst_sectors, worst_least_sectors; /* mean per request of the instruction */
} tern_emulated_counts;

#ifdef __cplusplus
}
#endif

#endif
