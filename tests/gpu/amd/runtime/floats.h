// Instructions on floats. Reciprocals, square roots and functions approximated by hardware ("1 ULP accuracy") are
// correctly rounded or the C library's: callers must not rely on their last bit.
#ifndef TERN_TESTS_GPU_AMD_RUNTIME_FLOATS_H
#define TERN_TESTS_GPU_AMD_RUNTIME_FLOATS_H

#include <math.h>

#include "run.h"

typedef _Float16 tern_half;

float tern_amdgcn_rcp_f32(float x) {
  return 1.0f / x;
}
double tern_amdgcn_rcp_f64(double x) {
  return 1.0 / x;
}
tern_half tern_amdgcn_rcp_f16(tern_half x) {
  return (tern_half)(1.0f / (float)x);
}
float tern_amdgcn_sqrt_f32(float x) {
  return __builtin_sqrtf(x);
}
double tern_amdgcn_sqrt_f64(double x) {
  return __builtin_sqrt(x);
}
tern_half tern_amdgcn_sqrt_f16(tern_half x) {
  return (tern_half)__builtin_sqrtf((float)x);
}
float tern_amdgcn_rsq_f32(float x) {
  return (float)(1.0 / __builtin_sqrt((double)x));
}
double tern_amdgcn_rsq_f64(double x) {
  return 1.0 / __builtin_sqrt(x);
}
tern_half tern_amdgcn_rsq_f16(tern_half x) {
  return (tern_half)(1.0 / __builtin_sqrt((double)x));
}
float tern_amdgcn_exp2_f32(float x) {
  return exp2f(x);
}
float tern_amdgcn_log_f32(float x) {
  return log2f(x);
}
// "Input must be normalized from radians by dividing by 2*PI."
float tern_amdgcn_sin_f32(float x) {
  return (float)sin(6.283185307179586476925 * (double)x);
}
float tern_amdgcn_cos_f32(float x) {
  return (float)cos(6.283185307179586476925 * (double)x);
}

// "V_FRACT: return fractional portion of a number: S0 + -floor(S0)", below 1 also for tiny negative numbers.
float tern_amdgcn_fract_f32(float x) {
  return x != x ? x : fminf(x - floorf(x), 0x1.fffffep-1f);
}
double tern_amdgcn_fract_f64(double x) {
  return x != x ? x : fmin(x - floor(x), 0x1.fffffffffffffp-1);
}

// "V_FREXP_MANT: if S0 is infinite or a NaN, D = S0; else the mantissa, in [0.5, 1)"; "V_FREXP_EXP: ... D = 0".
float tern_amdgcn_frexp_mant_f32(float x) {
  int e;
  return isfinite(x) ? frexpf(x, &e) : x;
}
double tern_amdgcn_frexp_mant_f64(double x) {
  int e;
  return isfinite(x) ? frexp(x, &e) : x;
}
uint32_t tern_amdgcn_frexp_exp_i32_f32(float x) {
  int e = 0;
  if (isfinite(x)) frexpf(x, &e);
  return (uint32_t)e;
}
uint32_t tern_amdgcn_frexp_exp_i32_f64(double x) {
  int e = 0;
  if (isfinite(x)) frexp(x, &e);
  return (uint32_t)e;
}
float tern_amdgcn_ldexp_f32(float x, uint32_t e) {
  return ldexpf(x, (int)e);
}
double tern_amdgcn_ldexp_f64(double x, uint32_t e) {
  return ldexp(x, (int)e);
}

// "V_CMP_CLASS: the mask's bits are 0 signaling NaN, 1 quiet NaN, 2 -inf, 3 -normal, 4 -denormal, 5 -0, 6 +0, 7
// +denormal, 8 +normal, 9 +inf".
static uint32_t tern_class_bit(bool negative, int kind, bool quiet) {
  switch (kind) {
    case FP_NAN: return quiet ? 1 : 0;
    case FP_INFINITE: return negative ? 2 : 9;
    case FP_NORMAL: return negative ? 3 : 8;
    case FP_SUBNORMAL: return negative ? 4 : 7;
    default: return negative ? 5 : 6;
  }
}
uint32_t tern_amdgcn_class_f32(float x, uint32_t mask) {
  uint32_t bits;
  memcpy(&bits, &x, 4);
  return mask >> tern_class_bit(bits >> 31, fpclassify(x), bits >> 22 & 1) & 1;
}
uint32_t tern_amdgcn_class_f64(double x, uint32_t mask) {
  uint64_t bits;
  memcpy(&bits, &x, 8);
  return mask >> tern_class_bit(bits >> 63, fpclassify(x), bits >> 51 & 1) & 1;
}

// A minimum "treats -0 as less than +0", and ignores a NaN beside a number.
#define TERN_MIN_MAX(T, SUFFIX)                                        \
  T tern_minnum_##SUFFIX(T a, T b) {                                   \
    if (a != a) return b;                                              \
    if (b != b) return a;                                              \
    return a < b || (a == b && __builtin_signbit((double)a)) ? a : b;  \
  }                                                                    \
  T tern_maxnum_##SUFFIX(T a, T b) {                                   \
    if (a != a) return b;                                              \
    if (b != b) return a;                                              \
    return a > b || (a == b && !__builtin_signbit((double)a)) ? a : b; \
  }
TERN_MIN_MAX(tern_half, f16)
TERN_MIN_MAX(float, f32)
TERN_MIN_MAX(double, f64)

// "V_MED3_F32: if any operand is a NaN, the minimum of the three; else the one in the middle".
float tern_amdgcn_fmed3_f32(float a, float b, float c) {
  if (a != a || b != b || c != c) return tern_minnum_f32(tern_minnum_f32(a, b), c);
  return tern_maxnum_f32(tern_minnum_f32(a, b), tern_minnum_f32(tern_maxnum_f32(a, b), c));
}
// "0.0 * anything is 0.0".
float tern_amdgcn_fmul_legacy(float a, float b) {
  return a == 0 || b == 0 ? 0.0f : a * b;
}
float tern_amdgcn_fma_legacy(float a, float b, float c) {
  return a == 0 || b == 0 ? 0.0f + c : __builtin_fmaf(a, b, c);
}

// Rounded once: the product is exact in double, and the sum is rounded to odd before rounding to 16 bits.
tern_half tern_fma_f16(tern_half a, tern_half b, tern_half c) {
  const double product = (double)a * (double)b, addend = (double)c, sum = product + addend;
  const double part = sum - product, rest = (product - (sum - part)) + (addend - part);
  if (rest != 0 && isfinite(sum)) {
    int64_t bits;
    memcpy(&bits, &sum, 8);
    if ((bits & 1) == 0) bits += (rest > 0) == (sum > 0) ? 1 : -1;
    double odd;
    memcpy(&odd, &bits, 8);
    return (tern_half)odd;
  }
  return (tern_half)sum;
}
void tern_fma_v2f16(const tern_half* a, const tern_half* b, const tern_half* c, tern_half* to) {
  for (int i = 0; i < 2; ++i) to[i] = tern_fma_f16(a[i], b[i], c[i]);
}

// "V_CVT_PKRTZ_F16_F32: convert two floats to 16 bits, round toward zero".
static uint16_t tern_half_to_zero(float x) {
  tern_half near = (tern_half)x;
  uint16_t bits;
  memcpy(&bits, &near, 2);
  if (isfinite(x) && fabsf((float)near) > fabsf(x)) --bits;
  return bits;
}
void tern_amdgcn_cvt_pkrtz(float a, float b, uint16_t* to) {
  to[0] = tern_half_to_zero(a);
  to[1] = tern_half_to_zero(b);
}

#include "two_over_pi.h"
// "V_TRIG_PREOP_F64: look up 2/PI (S0.f64) with segment select S1.u[4:0]; for the exponents above 1077 the shift
// grows".
double tern_amdgcn_trig_preop_f64(double x, uint32_t segment) {
  uint64_t bits;
  memcpy(&bits, &x, 8);
  const int exponent = (int)(bits >> 52 & 0x7FF);
  int shift = (int)(segment & 31) * 53 + (exponent > 1077 ? exponent - 1077 : 0);
  uint64_t mantissa = 0;  // 53 bits of 2/PI, from bit 1200 - shift on
  for (int i = 0; i < 53; ++i) {
    const int at = shift + i;
    mantissa = mantissa << 1 | (at < 1201 ? tern_two_over_pi[at / 32] >> (31 - at % 32) & 1 : 0);
  }
  return ldexp((double)mantissa, -53 - shift + (exponent >= 1968 ? 128 : 0));
}

#endif
