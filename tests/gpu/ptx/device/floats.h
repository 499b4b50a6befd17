/* Instructions on f32 and f64, a function for each type; smaller floats are in half.h. */
#ifndef TERN_TESTS_GPU_PTX_FLOATS_H
#define TERN_TESTS_GPU_PTX_FLOATS_H

#include <math.h>

#include "tests/gpu/ptx/device/bits.h"

#define TERN_F32_NAN f32_of(0x7fffffffu)

/* CUDA's guide on f32: "the result of an operation involving one or more input NaNs is the quiet NaN of bit pattern
 * 0x7fffffff". f64 passes payloads on, as the host does. */
TERN_INLINE f32 one_nan(f32 a) {
  return a == a ? a : TERN_F32_NAN;
}

/* ".ftz flushes subnormal inputs and results to sign-preserving zero." */
TERN_INLINE f32 ftz_f32(f32 a) {
  return (bits_f32(a) & 0x7f800000u) == 0 ? f32_of(bits_f32(a) & 0x80000000u) : a;
}
/* ".sat clamps the result to [0.0, 1.0]. NaN results are flushed to +0.0f." */
TERN_INLINE f32 sat_f32(f32 a) {
  return a > 0 ? (a < 1 ? a : 1) : 0;
}
TERN_INLINE f64 sat_f64(f64 a) {
  return a > 0 ? (a < 1 ? a : 1) : 0;
}

TERN_INLINE f32 add_f32(f32 a, f32 b) {
  return one_nan(a + b);
}
TERN_INLINE f64 add_f64(f64 a, f64 b) {
  return a + b;
}
TERN_INLINE f32 sub_f32(f32 a, f32 b) {
  return one_nan(a - b);
}
TERN_INLINE f64 sub_f64(f64 a, f64 b) {
  return a - b;
}
TERN_INLINE f32 mul_f32(f32 a, f32 b) {
  return one_nan(a * b);
}
TERN_INLINE f64 mul_f64(f64 a, f64 b) {
  return a * b;
}
TERN_INLINE f32 div_f32(f32 a, f32 b) {
  return one_nan(a / b);
}
TERN_INLINE f64 div_f64(f64 a, f64 b) {
  return a / b;
}
TERN_INLINE f32 fma_f32(f32 a, f32 b, f32 c) {
  return one_nan(fmaf(a, b, c));
}
TERN_INLINE f64 fma_f64(f64 a, f64 b, f64 c) {
  return fma(a, b, c);
}
/* "mad.f32 is a fused multiply-add" for sm_20 and later. */
TERN_INLINE f32 mad_f32(f32 a, f32 b, f32 c) {
  return fma_f32(a, b, c);
}
TERN_INLINE f64 mad_f64(f64 a, f64 b, f64 c) {
  return fma(a, b, c);
}
TERN_INLINE f32 rcp_f32(f32 a) {
  return one_nan(1 / a);
}
TERN_INLINE f64 rcp_f64(f64 a) {
  return 1 / a;
}
TERN_INLINE f32 sqrt_f32(f32 a) {
  return one_nan(sqrtf(a));
}
TERN_INLINE f64 sqrt_f64(f64 a) {
  return sqrt(a);
}

/* Approximations: computed in f64 and rounded, which is within the errors that the manual allows but not the bits of
 * any device. */
TERN_INLINE f32 rsqrt_f32(f32 a) {
  return one_nan((f32)(1 / sqrt((f64)a)));
}
TERN_INLINE f64 rsqrt_f64(f64 a) {
  return 1 / sqrt(a);
}
TERN_INLINE f32 sin_f32(f32 a) {
  return one_nan((f32)sin((f64)a));
}
TERN_INLINE f32 cos_f32(f32 a) {
  return one_nan((f32)cos((f64)a));
}
TERN_INLINE f32 lg2_f32(f32 a) {
  return one_nan((f32)log2((f64)a));
}
TERN_INLINE f32 ex2_f32(f32 a) {
  return one_nan((f32)exp2((f64)a));
}
TERN_INLINE f32 tanh_f32(f32 a) {
  return one_nan((f32)tanh((f64)a));
}

TERN_INLINE f32 neg_f32(f32 a) {
  return f32_of(bits_f32(a) ^ 0x80000000u);
}
TERN_INLINE f64 neg_f64(f64 a) {
  return f64_of(bits_f64(a) ^ 0x8000000000000000ull);
}
TERN_INLINE f32 abs_f32(f32 a) {
  return f32_of(bits_f32(a) & 0x7fffffffu);
}
TERN_INLINE f64 abs_f64(f64 a) {
  return f64_of(bits_f64(a) & 0x7fffffffffffffffull);
}
/* "Copies the sign bit of a into the value of b." */
TERN_INLINE f32 copysign_f32(f32 a, f32 b) {
  return copysignf(b, a);
}
TERN_INLINE f64 copysign_f64(f64 a, f64 b) {
  return copysign(b, a);
}

/* "If both inputs are NaN, the result is canonical NaN; if one is, the result is the other"; "+0.0 > -0.0". With .NaN
 * the result is the canonical NaN if either is. */
#define TERN_EXTREMES(T, bits, nan)                                        \
  TERN_INLINE T min_##T(T a, T b) {                                        \
    if (a != a) return b != b ? nan : b;                                   \
    if (b != b) return a;                                                  \
    return a < b ? a : b < a ? b : bits(a) >> (sizeof(T) * 8 - 1) ? a : b; \
  }                                                                        \
  TERN_INLINE T max_##T(T a, T b) {                                        \
    if (a != a) return b != b ? nan : b;                                   \
    if (b != b) return a;                                                  \
    return a > b ? a : b > a ? b : bits(a) >> (sizeof(T) * 8 - 1) ? b : a; \
  }                                                                        \
  TERN_INLINE T min_NaN_##T(T a, T b) {                                    \
    return a != a || b != b ? nan : min_##T(a, b);                         \
  }                                                                        \
  TERN_INLINE T max_NaN_##T(T a, T b) {                                    \
    return a != a || b != b ? nan : max_##T(a, b);                         \
  }
TERN_EXTREMES(f32, bits_f32, TERN_F32_NAN)
TERN_EXTREMES(f64, bits_f64, f64_of(0x7fffffffffffffffull))
#undef TERN_EXTREMES
/* ".xorsign.abs: the sign is the XOR of the signs of both inputs", of absolute values. */
#define TERN_XORSIGN(name)                                                       \
  TERN_INLINE f32 name##_xorsign_abs_f32(f32 a, f32 b) {                         \
    return f32_of((bits_f32(name##_f32(abs_f32(a), abs_f32(b))) & 0x7fffffffu) | \
                  ((bits_f32(a) ^ bits_f32(b)) & 0x80000000u));                  \
  }
TERN_XORSIGN(min)
TERN_XORSIGN(max)
TERN_XORSIGN(min_NaN)
TERN_XORSIGN(max_NaN)
#undef TERN_XORSIGN

/* The unordered comparisons are true where either is NaN; "num: both operands are numeric; nan: either is NaN". */
#define TERN_COMPARISONS(T)           \
  TERN_INLINE int eq_##T(T a, T b) {  \
    return a == b;                    \
  }                                   \
  TERN_INLINE int ne_##T(T a, T b) {  \
    return a < b || a > b;            \
  }                                   \
  TERN_INLINE int lt_##T(T a, T b) {  \
    return a < b;                     \
  }                                   \
  TERN_INLINE int le_##T(T a, T b) {  \
    return a <= b;                    \
  }                                   \
  TERN_INLINE int gt_##T(T a, T b) {  \
    return a > b;                     \
  }                                   \
  TERN_INLINE int ge_##T(T a, T b) {  \
    return a >= b;                    \
  }                                   \
  TERN_INLINE int equ_##T(T a, T b) { \
    return !(a < b || a > b);         \
  }                                   \
  TERN_INLINE int neu_##T(T a, T b) { \
    return a != b;                    \
  }                                   \
  TERN_INLINE int ltu_##T(T a, T b) { \
    return !(a >= b);                 \
  }                                   \
  TERN_INLINE int leu_##T(T a, T b) { \
    return !(a > b);                  \
  }                                   \
  TERN_INLINE int gtu_##T(T a, T b) { \
    return !(a <= b);                 \
  }                                   \
  TERN_INLINE int geu_##T(T a, T b) { \
    return !(a < b);                  \
  }                                   \
  TERN_INLINE int num_##T(T a, T b) { \
    return a == a && b == b;          \
  }                                   \
  TERN_INLINE int nan_##T(T a, T b) { \
    return a != a || b != b;          \
  }
TERN_COMPARISONS(f32)
TERN_COMPARISONS(f64)
#undef TERN_COMPARISONS

#define TERN_TESTP(T)                        \
  TERN_INLINE u8 testp_finite_##T(T a) {     \
    return a - a == 0;                       \
  }                                          \
  TERN_INLINE u8 testp_infinite_##T(T a) {   \
    return a == a && a - a != 0;             \
  }                                          \
  TERN_INLINE u8 testp_number_##T(T a) {     \
    return a == a;                           \
  }                                          \
  TERN_INLINE u8 testp_notanumber_##T(T a) { \
    return a != a;                           \
  }                                          \
  TERN_INLINE u8 testp_normal_##T(T a) {     \
    return fpclassify(a) == FP_NORMAL;       \
  }                                          \
  TERN_INLINE u8 testp_subnormal_##T(T a) {  \
    return fpclassify(a) == FP_SUBNORMAL;    \
  }
TERN_TESTP(f32)
TERN_TESTP(f64)
#undef TERN_TESTP

/* Two f32 in a register of 64 bits. */
#define TERN_EACH2(name)                                                                     \
  TERN_INLINE u64 name##_f32x2(u64 a, u64 b) {                                               \
    return (u64)bits_f32(name##_f32(f32_of((u32)(a >> 32)), f32_of((u32)(b >> 32)))) << 32 | \
           bits_f32(name##_f32(f32_of((u32)a), f32_of((u32)b)));                             \
  }
TERN_EACH2(add)
TERN_EACH2(sub)
TERN_EACH2(mul)
#undef TERN_EACH2
TERN_INLINE u64 ftz_f32x2(u64 a) {
  return (u64)bits_f32(ftz_f32(f32_of((u32)(a >> 32)))) << 32 | bits_f32(ftz_f32(f32_of((u32)a)));
}
TERN_INLINE u64 fma_f32x2(u64 a, u64 b, u64 c) {
  return (u64)bits_f32(fma_f32(f32_of((u32)(a >> 32)), f32_of((u32)(b >> 32)), f32_of((u32)(c >> 32)))) << 32 |
         bits_f32(fma_f32(f32_of((u32)a), f32_of((u32)b), f32_of((u32)c)));
}

#endif
