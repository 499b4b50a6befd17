// Dot products of packed operands. The last operand clamps: "CLAMP: saturate instead of wrap".
#ifndef TERN_TESTS_GPU_AMD_RUNTIME_DOTS_H
#define TERN_TESTS_GPU_AMD_RUNTIME_DOTS_H

#include "floats.h"

static uint32_t tern_sum_signed(int64_t sum, uint32_t clamp) {
  if (clamp && sum > INT32_MAX) return (uint32_t)INT32_MAX;
  if (clamp && sum < INT32_MIN) return (uint32_t)INT32_MIN;
  return (uint32_t)sum;
}
static uint32_t tern_sum_unsigned(uint64_t sum, uint32_t clamp) {
  return clamp && sum > UINT32_MAX ? UINT32_MAX : (uint32_t)sum;
}

static uint32_t tern_dot_signed(uint32_t a, uint32_t b, uint32_t c, uint32_t clamp, int bits) {
  int64_t sum = (int32_t)c;
  for (int i = 0; i < 32; i += bits) {
    sum += (int64_t)((int32_t)(a << (32 - bits - i)) >> (32 - bits)) * ((int32_t)(b << (32 - bits - i)) >> (32 - bits));
  }
  return tern_sum_signed(sum, clamp);
}
static uint32_t tern_dot_unsigned(uint32_t a, uint32_t b, uint32_t c, uint32_t clamp, int bits) {
  uint64_t sum = c;
  for (int i = 0; i < 32; i += bits)
    sum += (uint64_t)(a << (32 - bits - i) >> (32 - bits)) * (b << (32 - bits - i) >> (32 - bits));
  return tern_sum_unsigned(sum, clamp);
}
uint32_t tern_amdgcn_sdot4(uint32_t a, uint32_t b, uint32_t c, uint32_t clamp) {
  return tern_dot_signed(a, b, c, clamp, 8);
}
uint32_t tern_amdgcn_sdot8(uint32_t a, uint32_t b, uint32_t c, uint32_t clamp) {
  return tern_dot_signed(a, b, c, clamp, 4);
}
uint32_t tern_amdgcn_udot4(uint32_t a, uint32_t b, uint32_t c, uint32_t clamp) {
  return tern_dot_unsigned(a, b, c, clamp, 8);
}
uint32_t tern_amdgcn_udot8(uint32_t a, uint32_t b, uint32_t c, uint32_t clamp) {
  return tern_dot_unsigned(a, b, c, clamp, 4);
}
uint32_t tern_amdgcn_sdot2(const uint32_t* a, const uint32_t* b, uint32_t c, uint32_t clamp) {
  return tern_dot_signed(*a, *b, c, clamp, 16);
}
uint32_t tern_amdgcn_udot2(const uint32_t* a, const uint32_t* b, uint32_t c, uint32_t clamp) {
  return tern_dot_unsigned(*a, *b, c, clamp, 16);
}
// "V_DOT2_F32_F16: D = S0.f16[0] * S1.f16[0] + S0.f16[1] * S1.f16[1] + S2.f32", here two successive fused
// multiply-adds.
float tern_amdgcn_fdot2(const tern_half* a, const tern_half* b, float c, uint32_t clamp) {
  const float sum = __builtin_fmaf((float)a[1], (float)b[1], __builtin_fmaf((float)a[0], (float)b[0], c));
  return !clamp ? sum : sum < 0 ? 0.0f : sum > 1 ? 1.0f : sum;
}

#endif
