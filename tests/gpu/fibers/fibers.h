/* Threads of a block of an emulated GPU: each runs on its own stack, one at a time, until a wait. Plain C, for
 * translated kernels. The running thread calls all functions except tern_fibers_run. */
#ifndef TERN_TESTS_GPU_FIBERS_H
#define TERN_TESTS_GPU_FIBERS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tern_fibers {
  uint32_t threads;
  uint32_t lanes;     /* of a warp or wave, at most 64; the last may have fewer */
  uint32_t backwards; /* 1: the last thread first */
  void (*body)(void* user, uint32_t thread);
  /* Some threads wait forever; why names the threads and positions. Does not return. */
  void (*deadlock)(void* user, const char* why);
  void* user;
} tern_fibers;

/* Runs a block until all its threads have returned. */
void tern_fibers_run(const tern_fibers* block);

/* Lets the other threads run. */
void tern_fibers_yield(void);

typedef struct tern_fibers_votes {
  uint32_t yes, all; /* threads with a true vote; all of the barrier */
} tern_fibers_votes;

/* Waits until `threads` of the block have come to barrier `id`, 0 for all of it. Threads that have returned never come:
 * "__syncthreads() is allowed in conditional code but only if the conditional evaluates identically across the entire
 * thread block" (CUDA); OpenCL and Metal ask for the same. line: for messages. */
tern_fibers_votes tern_fibers_barrier(uint32_t id, uint32_t threads, int vote, int line);
/* Arrives without waiting. */
void tern_fibers_arrive(uint32_t id, uint32_t threads, int line);

#define TERN_FIBERS_WORDS 16

/* Words of each lane of a warp. */
typedef uint32_t tern_fibers_words[64][TERN_FIBERS_WORDS];

/* Waits until all lanes of the mask have arrived with the same mask and key; ignores lanes beyond the warp, but not
 * returned lanes. Then combine() runs once over the words of all lanes, and each lane gets its own changed words. */
typedef void (*tern_fibers_combine)(uint64_t mask, tern_fibers_words words, void* user);
void tern_fibers_exchange(uint64_t mask, tern_fibers_combine combine, uint64_t key, void* user, uint32_t* words,
                          uint32_t count, const char* what, int line);
/* The lanes of the thread's warp. */
uint64_t tern_fibers_lanes(void);

#ifdef __cplusplus
}
#endif

#endif
