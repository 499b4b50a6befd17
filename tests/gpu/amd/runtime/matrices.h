// Matrix products by a wave: D = A * B + C (CDNA 3 ISA, chapter 7). A sum is a single chain of fused multiply-adds,
// starting at C; the manual leaves the order and the rounding of hardware open, so the last bits may differ from
// hardware.
#ifndef TERN_TESTS_GPU_AMD_RUNTIME_MATRICES_H
#define TERN_TESTS_GPU_AMD_RUNTIME_MATRICES_H

#include "exchange.h"
#include "floats.h"

static float tern_widen_half(uint64_t four, uint32_t i) {
  const uint16_t bits = (uint16_t)(four >> (16 * i));
  tern_half value;
  memcpy(&value, &bits, 2);
  return (float)value;
}
static float tern_widen_bfloat(uint64_t four, uint32_t i) {
  const uint32_t bits = (uint32_t)(four >> (16 * i)) << 16;
  float value;
  memcpy(&value, &bits, 4);
  return value;
}
static float tern_one_float(uint64_t one, uint32_t i) {
  const uint32_t bits = (uint32_t)one;
  float value;
  memcpy(&value, &bits, 4);
  return value;
}

typedef float (*tern_element)(uint64_t packed, uint32_t i);

// `size` is 32 or 16. A lane holds `per_lane` consecutive k of row lane % size of A and of the same column of B; the
// lanes after the first `size` hold the next k. A lane's results are in column lane % size: rows 8 * (r / 4) + 4 *
// (lane / size) + r % 4 for 32, 4 * (lane / size) + r for 16.
static void tern_multiply(uint32_t site, uint64_t a, uint64_t b, const float* c, float* to, uint32_t size,
                          uint32_t per_lane, tern_element element, const uint32_t* modifiers) {
  if (modifiers[0] != 0 || modifiers[1] != 0 || modifiers[2] != 0)
    tern_fail("mfma with cbsz, abid or blgp, which the emulator lacks");
  const struct tern_exchanged all = tern_exchange(site, a, b);
  if (~all.active != 0) tern_fail("mfma in a wave with inactive lanes");
  const uint32_t lane = all.lane, column = lane % size, groups = kWave / size, results = size * size / kWave;
  for (uint32_t r = 0; r < results; ++r) {
    const uint32_t row = size == 32 ? 8 * (r / 4) + 4 * (lane / size) + r % 4 : 4 * (lane / size) + r;
    float sum = c[r];
    for (uint32_t g = 0; g < groups; ++g) {
      const uint64_t left = all.wave[g * size + row].taken[0], right = all.wave[g * size + column].taken[1];
      for (uint32_t i = 0; i < per_lane; ++i) sum = __builtin_fmaf(element(left, i), element(right, i), sum);
    }
    to[r] = sum;
  }
}

#define TERN_MFMA(NAME, SIZE, ELEMENT)                                                                             \
  void tern_amdgcn_mfma_##NAME(uint32_t site, const uint64_t* a, const uint64_t* b, const float* c, uint32_t cbsz, \
                               uint32_t abid, uint32_t blgp, float* to) {                                          \
    tern_multiply(site, *a, *b, c, to, SIZE, 4, ELEMENT, (const uint32_t[3]){cbsz, abid, blgp});                   \
  }
TERN_MFMA(f32_32x32x8f16, 32, tern_widen_half)
TERN_MFMA(f32_16x16x16f16, 16, tern_widen_half)
TERN_MFMA(f32_32x32x8bf16_1k, 32, tern_widen_bfloat)
TERN_MFMA(f32_16x16x16bf16_1k, 16, tern_widen_bfloat)

static uint64_t tern_float_bits(float x) {
  uint32_t bits;
  memcpy(&bits, &x, 4);
  return bits;
}
#define TERN_MFMA_F32(NAME, SIZE)                                                                             \
  void tern_amdgcn_mfma_##NAME(uint32_t site, float a, float b, const float* c, uint32_t cbsz, uint32_t abid, \
                               uint32_t blgp, float* to) {                                                    \
    tern_multiply(site, tern_float_bits(a), tern_float_bits(b), c, to, SIZE, 1, tern_one_float,               \
                  (const uint32_t[3]){cbsz, abid, blgp});                                                     \
  }
TERN_MFMA_F32(f32_32x32x2f32, 32)
TERN_MFMA_F32(f32_16x16x4f32, 16)

#endif
