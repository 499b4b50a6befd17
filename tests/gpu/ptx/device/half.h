/* Instructions on f16 and bf16, of which registers hold the bits, and on pairs of them. Each result is that of the
 * exact operation rounded once. */
#ifndef TERN_TESTS_GPU_PTX_HALF_H
#define TERN_TESTS_GPU_PTX_HALF_H

#include "tests/gpu/ptx/device/floats.h"

/* "NaN results are canonical NaN", 0x7FFF. */
TERN_INLINE f32 f32_of_f16(u16 a) {
  const u32 sign = (u32)(a & 0x8000) << 16, rest = a & 0x7fff;
  if (rest > 0x7c00) return TERN_F32_NAN;
  if (rest == 0x7c00) return f32_of(sign | 0x7f800000u);
  if (rest < 0x400) return f32_of(sign | bits_f32((f32)rest * 0x1p-24f));
  return f32_of(sign | ((rest << 13) + 0x38000000u));
}
TERN_INLINE u16 f16_of_f32(f32 value) {
  const u32 bits = bits_f32(value), rest = bits & 0x7fffffffu;
  const u16 sign = (u16)(bits >> 16 & 0x8000);
  if (rest > 0x7f800000u) return 0x7fff;
  if (rest >= 0x477ff000u) return sign | 0x7c00; /* 65520 and more */
  /* Below the least normal value: 0.5 has units of 2^-24. */
  if (rest < 0x38800000u) return (u16)(sign | (bits_f32(f32_of(rest) + 0.5f) - 0x3f000000u));
  return (u16)(sign | ((rest + 0xfffu + (rest >> 13 & 1) - 0x38000000u) >> 13));
}
TERN_INLINE f32 f32_of_bf16(u16 a) {
  return one_nan(f32_of((u32)a << 16));
}
TERN_INLINE u16 bf16_of_f32(f32 value) {
  const u32 bits = bits_f32(value);
  return value != value ? 0x7fff : (u16)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

/* Inexact sums and conversions get an odd last bit, so that a second rounding equals a single rounding. */
TERN_INLINE f64 odd_sum(f64 a, f64 b) {
  const f64 sum = a + b, of_b = sum - a, error = (a - (sum - of_b)) + (b - of_b);
  if (!(sum - sum == 0) || error == 0 || bits_f64(sum) & 1) return sum;
  return f64_of(bits_f64(sum) + ((error > 0) == (sum > 0) ? 1 : ~0ull));
}
TERN_INLINE f32 odd_f32(f64 a) {
  const f32 near = (f32)a;
  if (near == a || a != a || bits_f32(near) & 1) return near;
  return f32_of(bits_f32(near) + (fabs((f64)near) > fabs(a) ? ~0u : 1));
}

#define TERN_HALF(H, one)                                                                                      \
  TERN_INLINE u16 H##_of_f64(f64 a) {                                                                          \
    return H##_of_f32(odd_f32(a));                                                                             \
  }                                                                                                            \
  TERN_INLINE u16 ftz_##H(u16 a) {                                                                             \
    return (a & (one == 0x3c00 ? 0x7c00 : 0x7f80)) == 0 ? a & 0x8000 : a;                                      \
  }                                                                                                            \
  TERN_INLINE u16 sat_##H(u16 a) {                                                                             \
    const f32 value = f32_of_##H(a);                                                                           \
    return value > 0 ? (value < 1 ? a : one) : 0;                                                              \
  }                                                                                                            \
  /* ".relu clamps the result to 0 if negative. NaN result is converted to canonical NaN." */                  \
  TERN_INLINE u16 relu_##H(u16 a) {                                                                            \
    return f32_of_##H(a) != f32_of_##H(a) ? 0x7fff : a & 0x8000 ? 0 : a;                                       \
  }                                                                                                            \
  TERN_INLINE u16 add_##H(u16 a, u16 b) {                                                                      \
    return H##_of_f32(f32_of_##H(a) + f32_of_##H(b));                                                          \
  }                                                                                                            \
  TERN_INLINE u16 sub_##H(u16 a, u16 b) {                                                                      \
    return H##_of_f32(f32_of_##H(a) - f32_of_##H(b));                                                          \
  }                                                                                                            \
  TERN_INLINE u16 mul_##H(u16 a, u16 b) {                                                                      \
    return H##_of_f64((f64)f32_of_##H(a) * f32_of_##H(b));                                                     \
  }                                                                                                            \
  TERN_INLINE u16 fma_##H(u16 a, u16 b, u16 c) {                                                               \
    return H##_of_f64(odd_sum((f64)f32_of_##H(a) * f32_of_##H(b), f32_of_##H(c)));                             \
  }                                                                                                            \
  /* ".oob clamps the result to 0 if either of the operands is an OOB-NaN value": refused. */                  \
  TERN_INLINE u16 neg_##H(u16 a) {                                                                             \
    return a ^ 0x8000;                                                                                         \
  }                                                                                                            \
  TERN_INLINE u16 abs_##H(u16 a) {                                                                             \
    return a & 0x7fff;                                                                                         \
  }                                                                                                            \
  TERN_INLINE u16 min_##H(u16 a, u16 b) {                                                                      \
    return H##_of_f32(min_f32(f32_of_##H(a), f32_of_##H(b)));                                                  \
  }                                                                                                            \
  TERN_INLINE u16 max_##H(u16 a, u16 b) {                                                                      \
    return H##_of_f32(max_f32(f32_of_##H(a), f32_of_##H(b)));                                                  \
  }                                                                                                            \
  TERN_INLINE u16 min_NaN_##H(u16 a, u16 b) {                                                                  \
    return H##_of_f32(min_NaN_f32(f32_of_##H(a), f32_of_##H(b)));                                              \
  }                                                                                                            \
  TERN_INLINE u16 max_NaN_##H(u16 a, u16 b) {                                                                  \
    return H##_of_f32(max_NaN_f32(f32_of_##H(a), f32_of_##H(b)));                                              \
  }                                                                                                            \
  TERN_INLINE u16 min_xorsign_abs_##H(u16 a, u16 b) {                                                          \
    return (u16)((min_##H(a & 0x7fff, b & 0x7fff) & 0x7fff) | ((a ^ b) & 0x8000));                             \
  }                                                                                                            \
  TERN_INLINE u16 max_xorsign_abs_##H(u16 a, u16 b) {                                                          \
    return (u16)((max_##H(a & 0x7fff, b & 0x7fff) & 0x7fff) | ((a ^ b) & 0x8000));                             \
  }                                                                                                            \
  TERN_INLINE u16 ex2_##H(u16 a) {                                                                             \
    return H##_of_f64(exp2((f64)f32_of_##H(a)));                                                               \
  }                                                                                                            \
  TERN_INLINE u16 tanh_##H(u16 a) {                                                                            \
    return H##_of_f64(tanh((f64)f32_of_##H(a)));                                                               \
  }                                                                                                            \
  TERN_INLINE u32 pair_##H(u16 high, u16 low) {                                                                \
    return (u32)high << 16 | low;                                                                              \
  }                                                                                                            \
  TERN_COMPARE(H, eq)                                                                                          \
  TERN_COMPARE(H, ne)                                                                                          \
  TERN_COMPARE(H, lt)                                                                                          \
  TERN_COMPARE(H, le)                                                                                          \
  TERN_COMPARE(H, gt) TERN_COMPARE(H, ge) TERN_COMPARE(H, equ) TERN_COMPARE(H, neu) TERN_COMPARE(H, ltu)       \
      TERN_COMPARE(H, leu) TERN_COMPARE(H, gtu) TERN_COMPARE(H, geu) TERN_COMPARE(H, num) TERN_COMPARE(H, nan) \
          TERN_EACH1(H, ftz) TERN_EACH1(H, sat) TERN_EACH1(H, relu) TERN_EACH1(H, neg) TERN_EACH1(H, abs)      \
              TERN_EACH1(H, ex2) TERN_EACH1(H, tanh) TERN_EACH2(H, add) TERN_EACH2(H, sub) TERN_EACH2(H, mul)  \
                  TERN_EACH2(H, min) TERN_EACH2(H, max) TERN_EACH2(H, min_NaN) TERN_EACH2(H, max_NaN)          \
                      TERN_EACH2(H, min_xorsign_abs) TERN_EACH2(H, max_xorsign_abs)                            \
                          TERN_INLINE u32 fma_##H##x2(u32 a, u32 b, u32 c) {                                   \
    return pair_##H(fma_##H(a >> 16, b >> 16, c >> 16), fma_##H((u16)a, (u16)b, (u16)c));                      \
  }
#define TERN_COMPARE(H, name)                        \
  TERN_INLINE int name##_##H(u16 a, u16 b) {         \
    return name##_f32(f32_of_##H(a), f32_of_##H(b)); \
  }
#define TERN_EACH1(H, name)                                   \
  TERN_INLINE u32 name##_##H##x2(u32 a) {                     \
    return pair_##H(name##_##H(a >> 16), name##_##H((u16)a)); \
  }
#define TERN_EACH2(H, name)                                                    \
  TERN_INLINE u32 name##_##H##x2(u32 a, u32 b) {                               \
    return pair_##H(name##_##H(a >> 16, b >> 16), name##_##H((u16)a, (u16)b)); \
  }
TERN_HALF(f16, 0x3c00)
TERN_HALF(bf16, 0x3f80)
#undef TERN_HALF
#undef TERN_COMPARE
#undef TERN_EACH1
#undef TERN_EACH2

#endif
