/* The counters of the emulated machine, in process. The stand-ins export these functions (dlsym); plain C. */
#ifndef TERN_TESTS_GPU_MACHINE_COUNTERS_API_H
#define TERN_TESTS_GPU_MACHINE_COUNTERS_API_H

#include <stdint.h>

#include "tests/gpu/counts.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tern_emulator_figures {
  uint64_t calls;      /* of the API */
  uint64_t refused;    /* failed calls */
  uint64_t mistakes;   /* failed calls caused only by a mistake of the caller */
  uint64_t launches;   /* executed kernels, inside and outside of graphs */
  uint64_t bytes_in;   /* copied from the host to a device */
  uint64_t bytes_out;  /* copied from a device to the host */
  uint64_t bytes_over; /* copied on a device */
  uint64_t bytes_set;  /* set to a value */
  uint64_t copies_in, copies_out;
  uint64_t small_copies_in, small_copies_out; /* of at most 16 bytes: numbers, predicates */
  uint64_t memory, peak_memory;               /* bytes of a device in use, in memory objects too */
  uint64_t pinned, peak_pinned;
  /* Live objects. */
  uint64_t allocations, pinned_allocations, memory_objects, mappings, reservations;
  uint64_t contexts, streams, events, modules, graphs, executables;
  uint64_t queued; /* operations queued in streams */
} tern_emulator_figures;

void tern_emulator_counters(tern_emulator_figures* figures);
/* Calls of an API function, launches of a kernel. */
uint64_t tern_emulator_calls(const char* function);
uint64_t tern_emulator_launches(const char* kernel);
/* Fails the n-th call (from 1) of the function from now on, once. n = 0: no failure. */
void tern_emulator_fail(const char* function, uint64_t n);
/* Reason for the last refusal on this thread. */
const char* tern_emulator_why(void);
/* Turns counting on: later kernels are translated with counting code (tests/gpu/counts.h), and launches are recorded
 * with their counts. Large launches run partly: see tern_emulated_counts::most_work. Negative: turns counting off. Only
 * the CUDA driver has these three functions. */
void tern_emulator_count(double most_work);
/* Sets the tag of later launches of this thread, on streams and in graphs. */
void tern_emulator_tag(uint64_t tag);
typedef struct tern_emulator_launch {
  uint64_t tag;
  const char* kernel;
  const char* text; /* PTX of the kernel's module */
  uint32_t grid[3], block[3];
  uint32_t static_bytes, dynamic_bytes; /* of shared memory */
  uint32_t in_graph;                    /* 1: ran as part of a graph */
  const tern_emulated_counts* counts;   /* shared by equal launches */
} tern_emulator_launch;
/* Launches executed since the last call, in order. Valid until the next call. */
const tern_emulator_launch* tern_emulator_take(uint64_t* count);
/* Nodes of graphs, for stand-ins for profilers; called under the machine's lock. */
typedef struct tern_emulator_observer {
  void (*created)(uint64_t handle, uint64_t id);
  /* A node of an executable graph, and the node of the graph that it copies. */
  void (*cloned)(uint64_t id, uint64_t original);
  /* The work of a node: 'k' kernel, 'c' copy, 'f' fill. Microseconds on the counted clock. */
  void (*ran)(uint64_t id, uint32_t launch, char kind, uint64_t begin, uint64_t end);
} tern_emulator_observer;
/* Null: ends. Only the CUDA driver has this function. */
void tern_emulator_observe(const tern_emulator_observer* observer);
/* The counters as JSON, equal to TERN_EMULATOR_REPORT's at exit. Valid until the next call on this thread. */
const char* tern_emulator_report(void);

#ifdef __cplusplus
}
#endif

#endif
