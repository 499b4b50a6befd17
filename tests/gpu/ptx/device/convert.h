/* Parts of cvt, composed by the translation. */
#ifndef TERN_TESTS_GPU_PTX_CONVERT_H
#define TERN_TESTS_GPU_PTX_CONVERT_H

#include "tests/gpu/ptx/device/half.h"

/* "In float-to-integer conversions, depending upon conversion types, NaN input results in following value: Zero if
 * source is not .f64 and destination is not .s64, .u64. Otherwise 1 << (BitWidth(dst) - 1)." Others are clamped to the
 * range of the type. The value is an integer already. */
#define TERN_TO_INTEGER(T, bits, low, high, above)                             \
  TERN_INLINE T T##_of_double(f64 a, int from_f64) {                           \
    if (a != a) return from_f64 || bits == 64 ? (T)((u64)1 << (bits - 1)) : 0; \
    return a <= (f64)low ? low : a >= above ? high : (T)a;                     \
  }
TERN_TO_INTEGER(u8, 8, 0, UINT8_MAX, 256.)
TERN_TO_INTEGER(s8, 8, INT8_MIN, INT8_MAX, 128.)
TERN_TO_INTEGER(u16, 16, 0, UINT16_MAX, 65536.)
TERN_TO_INTEGER(s16, 16, INT16_MIN, INT16_MAX, 32768.)
TERN_TO_INTEGER(u32, 32, 0, UINT32_MAX, 0x1p32)
TERN_TO_INTEGER(s32, 32, INT32_MIN, INT32_MAX, 0x1p31)
TERN_TO_INTEGER(u64, 64, 0, UINT64_MAX, 0x1p64)
TERN_TO_INTEGER(s64, 64, INT64_MIN, INT64_MAX, 0x1p63)
#undef TERN_TO_INTEGER

/* ".sat: the result is clamped to MININT..MAXINT for the size of the operation", from any integer as s128. */
#define TERN_CLAMP(T, low, high)                   \
  TERN_INLINE T T##_clamped(s128 a) {              \
    return a < low ? low : a > high ? high : (T)a; \
  }
TERN_CLAMP(u8, 0, UINT8_MAX)
TERN_CLAMP(s8, INT8_MIN, INT8_MAX)
TERN_CLAMP(u16, 0, UINT16_MAX)
TERN_CLAMP(s16, INT16_MIN, INT16_MAX)
TERN_CLAMP(u32, 0, UINT32_MAX)
TERN_CLAMP(s32, INT32_MIN, INT32_MAX)
TERN_CLAMP(u64, 0, UINT64_MAX)
TERN_CLAMP(s64, INT64_MIN, INT64_MAX)
#undef TERN_CLAMP

/* .rni, .rzi, .rmi, .rpi */
TERN_INLINE f64 rni_f64(f64 a) {
  return rint(a);
}
TERN_INLINE f64 rzi_f64(f64 a) {
  return trunc(a);
}
TERN_INLINE f64 rmi_f64(f64 a) {
  return floor(a);
}
TERN_INLINE f64 rpi_f64(f64 a) {
  return ceil(a);
}

TERN_INLINE f32 f32_rn_f64(f64 a) {
  return one_nan((f32)a);
}
TERN_INLINE f32 f32_rn_s64(s64 a) {
  return (f32)a;
}
TERN_INLINE f32 f32_rn_u64(u64 a) {
  return (f32)a;
}
TERN_INLINE f64 f64_rn_s64(s64 a) {
  return (f64)a;
}
TERN_INLINE f64 f64_rn_u64(u64 a) {
  return (f64)a;
}

/* ".relu" of numbers before rounding. */
TERN_INLINE f64 relu_double(f64 a) {
  return a < 0 ? 0 : a == 0 ? 0 : a;
}

#endif
