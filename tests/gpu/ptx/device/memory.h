/* Addresses and atomic operations. */
#ifndef TERN_TESTS_GPU_PTX_MEMORY_H
#define TERN_TESTS_GPU_PTX_MEMORY_H

#include "tests/gpu/ptx/device/half.h"

/* "The address must be naturally aligned to a multiple of the access size." */
TERN_INLINE char* at(tern_thread* T, int line, const char* space, u64 address, u32 bytes) {
  if (__builtin_expect((address & (bytes - 1)) != 0 || address < 4096, 0)) {
    tern_ptx_bad_address(T, line, space, address, bytes);
  }
  return (char*)address;
}
/* A window of shared memory: addresses are offsets into the block's memory, of 32 or 64 bits. */
TERN_INLINE char* at_shared(tern_thread* T, int line, u64 address, u32 bytes) {
  if (__builtin_expect((address & (bytes - 1)) != 0 || address + bytes > T->shared_bytes || address + bytes < address,
                       0)) {
    tern_ptx_bad_address(T, line, "shared", address, bytes);
  }
  return T->shared + address;
}
/* The source position of an access, in counting kernels. */
TERN_INLINE char* counted(tern_thread* T, int line, tern_access_kind kind, char* place, u32 bytes) {
  ++T->accesses;
  if (T->counting) tern_ptx_count(T, line, kind, (u64)place, bytes);
  return place;
}
TERN_INLINE int is_shared(tern_thread* T, u64 address) {
  return address - (u64)T->shared < T->shared_bytes;
}

#define TERN_ATOMIC(T, N)                                                                     \
  TERN_INLINE T load_##T(char* at) {                                                          \
    return __atomic_load_n((T*)at, __ATOMIC_SEQ_CST);                                         \
  }                                                                                           \
  TERN_INLINE T atom_exch_##T(char* at, T a) {                                                \
    return __atomic_exchange_n((T*)at, a, __ATOMIC_SEQ_CST);                                  \
  }                                                                                           \
  TERN_INLINE T atom_cas_##T(char* at, T expected, T a) {                                     \
    __atomic_compare_exchange_n((T*)at, &expected, a, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
    return expected;                                                                          \
  }
TERN_ATOMIC(u16, 16)
TERN_ATOMIC(u32, 32)
TERN_ATOMIC(u64, 64)
#undef TERN_ATOMIC
#define atom_exch_b32 atom_exch_u32
#define atom_exch_b64 atom_exch_u64
#define atom_cas_b16 atom_cas_u16
#define atom_cas_b32 atom_cas_u32
#define atom_cas_b64 atom_cas_u64

/* T: the type of the value, B: the type of its bits; result: bits from old. */
#define TERN_UPDATE(name, T, B, of, bits, result)                                                                 \
  TERN_INLINE T name(char* at, T a) {                                                                             \
    B before = load_##B(at);                                                                                      \
    while (1) {                                                                                                   \
      const T old = of(before);                                                                                   \
      const B after = bits(result);                                                                               \
      if (__atomic_compare_exchange_n((B*)at, &before, after, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) return old; \
    }                                                                                                             \
  }
#define TERN_INTEGERS(N)                                                      \
  TERN_UPDATE(atom_add_u##N, u##N, u##N, (u##N), (u##N), old + a)             \
  TERN_UPDATE(atom_add_s##N, s##N, u##N, (s##N), (u##N), (u##N)old + (u##N)a) \
  TERN_UPDATE(atom_min_u##N, u##N, u##N, (u##N), (u##N), old < a ? old : a)   \
  TERN_UPDATE(atom_max_u##N, u##N, u##N, (u##N), (u##N), old > a ? old : a)   \
  TERN_UPDATE(atom_min_s##N, s##N, u##N, (s##N), (u##N), old < a ? old : a)   \
  TERN_UPDATE(atom_max_s##N, s##N, u##N, (s##N), (u##N), old > a ? old : a)   \
  TERN_UPDATE(atom_and_b##N, u##N, u##N, (u##N), (u##N), old& a)              \
  TERN_UPDATE(atom_or_b##N, u##N, u##N, (u##N), (u##N), old | a)              \
  TERN_UPDATE(atom_xor_b##N, u##N, u##N, (u##N), (u##N), old ^ a)
TERN_INTEGERS(32)
TERN_INTEGERS(64)
#undef TERN_INTEGERS
/* "inc: (r >= s) ? 0 : r + 1; dec: (r == 0 || r > s) ? s : r - 1" */
TERN_UPDATE(atom_inc_u32, u32, u32, (u32), (u32), old >= a ? 0 : old + 1)
TERN_UPDATE(atom_dec_u32, u32, u32, (u32), (u32), old == 0 || old > a ? a : old - 1)
TERN_UPDATE(atom_add_f64, f64, u64, f64_of, bits_f64, add_f64(old, a))
/* "atom.add.f32 on global memory flushes subnormal inputs and results to sign-preserving zero; whereas atom.add.f32 on
 * shared memory supports subnormal inputs and results." */
TERN_UPDATE(atom_add_f32, f32, u32, f32_of, bits_f32, add_f32(old, a))
TERN_UPDATE(atom_add_ftz_f32, f32, u32, f32_of, bits_f32, ftz_f32(add_f32(ftz_f32(old), ftz_f32(a))))
#define TERN_HALVES(H)                                                       \
  TERN_UPDATE(atom_add_##H, u16, u16, (u16), (u16), add_##H(old, a))         \
  TERN_UPDATE(atom_min_##H, u16, u16, (u16), (u16), min_##H(old, a))         \
  TERN_UPDATE(atom_max_##H, u16, u16, (u16), (u16), max_##H(old, a))         \
  TERN_UPDATE(atom_add_##H##x2, u32, u32, (u32), (u32), add_##H##x2(old, a)) \
  TERN_UPDATE(atom_min_##H##x2, u32, u32, (u32), (u32), min_##H##x2(old, a)) \
  TERN_UPDATE(atom_max_##H##x2, u32, u32, (u32), (u32), max_##H##x2(old, a))
TERN_HALVES(f16)
TERN_HALVES(bf16)
#undef TERN_HALVES
#undef TERN_UPDATE

#endif
