/* Values and their bits. */
#ifndef TERN_TESTS_GPU_PTX_BITS_H
#define TERN_TESTS_GPU_PTX_BITS_H

#include "tests/gpu/ptx/device/device.h"

#define TERN_INLINE static inline __attribute__((always_inline, unused))

TERN_INLINE f32 f32_of(u32 bits) {
  union {
    u32 bits;
    f32 value;
  } both;
  both.bits = bits;
  return both.value;
}
TERN_INLINE u32 bits_f32(f32 value) {
  union {
    u32 bits;
    f32 value;
  } both;
  both.value = value;
  return both.bits;
}
TERN_INLINE f64 f64_of(u64 bits) {
  union {
    u64 bits;
    f64 value;
  } both;
  both.bits = bits;
  return both.value;
}
TERN_INLINE u64 bits_f64(f64 value) {
  union {
    u64 bits;
    f64 value;
  } both;
  both.value = value;
  return both.bits;
}

#endif
