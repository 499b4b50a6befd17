/* Types of translated kernels, the running thread, and the functions of this folder's library. Plain C, included by
 * every translated kernel. */
#ifndef TERN_TESTS_GPU_PTX_DEVICE_H
#define TERN_TESTS_GPU_PTX_DEVICE_H

#include "tests/gpu/kernel.h"

/* C11 has _Noreturn, C++ does not. */
#define TERN_NORETURN __attribute__((noreturn))

#ifdef __cplusplus
extern "C" {
#endif

typedef uint8_t u8;
typedef int8_t s8;
typedef uint16_t u16;
typedef int16_t s16;
typedef uint32_t u32;
typedef int32_t s32;
typedef uint64_t u64;
typedef int64_t s64;
typedef unsigned __int128 u128;
typedef __int128 s128;
typedef float f32;
typedef double f64;

/* A kernel's properties from the translation. */
typedef struct tern_ptx_kernel {
  const char* name;
  u32 shared_bytes;  /* static */
  u32 dynamic_align; /* dynamic shared memory starts at the next multiple after the static part */
  u32 most_threads;  /* of .maxntid; 0: none */
  u32 uses_groups;
} tern_ptx_kernel;

/* A running thread. */
typedef struct tern_thread {
  const char* parameters;
  char* shared; /* Shared memory of the block. Addresses of the shared space are offsets from its start. */
  u32 shared_bytes, dynamic_shared;
  u32 thread[3], block[3], threads[3], blocks[3];
  u32 index; /* index in the block */
  const tern_ptx_kernel* kernel;
  const tern_emulated_launch* launch;
  void* copies; /* pending cp.async copies */
  /* Set in counting kernels if the launch requests counting. */
  void* counting; /* null: no counting */
  u64 accesses, operations, tensor_operations;
} tern_thread;

/* ---- grid.cpp ---- */
void tern_ptx_run(const tern_emulated_launch* launch, const tern_ptx_kernel* kernel, void (*body)(tern_thread*));
TERN_NORETURN void tern_ptx_trap(tern_thread* thread, int line, const char* why);
TERN_NORETURN void tern_ptx_bad_address(tern_thread* thread, int line, const char* space, u64 address, u32 bytes);
TERN_NORETURN void tern_ptx_assertion(tern_thread* thread, int line, u64 message, u64 file, u32 at, u64 function);
u64 tern_ptx_clock(void);
u64 tern_ptx_nanoseconds(void);
void tern_ptx_set_conditional(tern_thread* thread, u64 handle, u32 value);
void tern_ptx_pause(tern_thread* thread); /* lets other threads of the block run */

/* ---- counting.cpp: accesses of threads with `counting` set ---- */
typedef enum { TERN_LOAD, TERN_STORE, TERN_ATOMIC, TERN_ACCESS_KINDS } tern_access_kind;
void tern_ptx_count(tern_thread*, int line, tern_access_kind kind, u64 address, u32 bytes); /* the host's address */
void tern_ptx_count_shared(tern_thread*, int line, tern_access_kind kind, u32 address, u32 bytes);

/* ---- convert.cpp: small floats ---- */
enum { TERN_RN, TERN_RZ, TERN_RM, TERN_RP, TERN_RNA };
enum {
  TERN_F16,
  TERN_BF16,
  TERN_TF32,
  TERN_F32,
  TERN_E4M3,
  TERN_E5M2,
  TERN_E2M1,
  TERN_E2M3,
  TERN_E3M2,
  TERN_UE8M0,
};
u32 tern_ptx_encode(int format, int mode, int finite, long double value); /* finite: .satfinite */
f64 tern_ptx_decode(int format, u32 code);

/* ---- rounding.cpp: of other than to the nearest ---- */
#define TERN_ROUNDED(mode)             \
  f32 add_##mode##_f32(f32, f32);      \
  f64 add_##mode##_f64(f64, f64);      \
  f32 sub_##mode##_f32(f32, f32);      \
  f64 sub_##mode##_f64(f64, f64);      \
  f32 mul_##mode##_f32(f32, f32);      \
  f64 mul_##mode##_f64(f64, f64);      \
  f32 div_##mode##_f32(f32, f32);      \
  f64 div_##mode##_f64(f64, f64);      \
  f32 rcp_##mode##_f32(f32);           \
  f64 rcp_##mode##_f64(f64);           \
  f32 sqrt_##mode##_f32(f32);          \
  f64 sqrt_##mode##_f64(f64);          \
  f32 fma_##mode##_f32(f32, f32, f32); \
  f64 fma_##mode##_f64(f64, f64, f64); \
  f32 f32_##mode##_s64(s64);           \
  f32 f32_##mode##_u64(u64);           \
  f64 f64_##mode##_s64(s64);           \
  f64 f64_##mode##_u64(u64);           \
  f32 f32_##mode##_f64(f64);
TERN_ROUNDED(rz)
TERN_ROUNDED(rm)
TERN_ROUNDED(rp)
#undef TERN_ROUNDED

/* ---- groups.cpp ---- */
enum { TERN_SHFL_UP, TERN_SHFL_DOWN, TERN_SHFL_BFLY, TERN_SHFL_IDX };
u32 tern_ptx_shfl(tern_thread*, int line, int mode, u32 value, u32 b, u32 c, u32 mask, u8* in_range);
/* bar.sync and bar.red: number of threads with a true predicate; threads of the barrier, 0 for all. */
typedef struct tern_ptx_votes {
  u32 yes, all;
} tern_ptx_votes;
tern_ptx_votes tern_ptx_barrier(tern_thread*, int line, u32 barrier, u32 threads, u8 predicate);
void tern_ptx_arrive(tern_thread*, int line, u32 barrier, u32 threads);
void tern_ptx_warp_barrier(tern_thread*, int line, u32 mask);
u32 tern_ptx_ballot(tern_thread*, int line, u8 predicate, u32 mask);
u32 tern_ptx_match_any(tern_thread*, int line, u64 value, u32 mask);
u32 tern_ptx_match_all(tern_thread*, int line, u64 value, u32 mask, u8* all);
enum {
  TERN_REDUX_ADD,
  TERN_REDUX_MIN_U,
  TERN_REDUX_MAX_U,
  TERN_REDUX_MIN_S,
  TERN_REDUX_MAX_S,
  TERN_REDUX_AND,
  TERN_REDUX_OR,
  TERN_REDUX_XOR
};
u32 tern_ptx_redux(tern_thread*, int line, int operation, u32 value, u32 mask);
u32 tern_ptx_activemask(tern_thread*);
u32 tern_ptx_lanes(tern_thread*); /* lanes of the thread's warp */

/* ---- copies.cpp: cp.async ---- */
void tern_ptx_copy(tern_thread*, int line, u32 to_shared, u64 from, u32 bytes, u32 read_bytes);
void tern_ptx_copy_commit(tern_thread*);
void tern_ptx_copy_wait(tern_thread*, u32 groups_left);
void tern_ptx_copy_wait_all(tern_thread*);
void tern_ptx_copy_end(tern_thread*);

/* ---- matrix.cpp ---- */
/* Shared addresses of rows; count 1, 2 or 4 matrices of 8x8 values of 16 bits. */
void tern_ptx_ldmatrix(tern_thread*, int line, int count, int transposed, u32 address, u32* d);
void tern_ptx_stmatrix(tern_thread*, int line, int count, int transposed, u32 address, const u32* values);
/* An 8x8 matrix of 16-bit values, transposed. */
u32 tern_ptx_movmatrix(tern_thread*, int line, u32 value);
typedef enum {
  TERN_MMA_F16,
  TERN_MMA_BF16,
  TERN_MMA_TF32,
  TERN_MMA_E4M3,
  TERN_MMA_E5M2,
  TERN_MMA_S8,
  TERN_MMA_U8,
  TERN_MMA_S4,
  TERN_MMA_U4,
  TERN_MMA_F64
} tern_mma_type;
typedef enum {
  TERN_MMA_INTO_F32,
  TERN_MMA_INTO_F16,
  TERN_MMA_INTO_S32,
  TERN_MMA_INTO_S32_SATURATED,
  TERN_MMA_INTO_F64
} tern_mma_into;
/* m16n8k: the registers of a, b, c and d. m8n8k4 of f64: a, b and c are pairs of words. */
void tern_ptx_mma(tern_thread*, int line, int m, int k, tern_mma_type a_type, tern_mma_type b_type, tern_mma_into into,
                  const u32* a, const u32* b, const u32* c, u32* d);
/* m16n8k32 of f16 and bf16 with a sparse a: `places` and `selector` are the operands e and f. */
void tern_ptx_mma_sparse(tern_thread*, int line, int m, int k, tern_mma_type a_type, tern_mma_type b_type,
                         tern_mma_into into, const u32* a, const u32* b, const u32* c, u32 places, u32 selector,
                         int ordered, u32* d);

#ifdef __cplusplus
}
#endif

#endif
