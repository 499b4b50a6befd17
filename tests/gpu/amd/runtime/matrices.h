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

// A has 16 rows of 32, of each 4 elements 2 are kept (AMD's matrix instruction calculator, V_SMFMAC_F32_16X16X32_F16):
// lane 16 * g + i holds the kept elements of A[i][8 * g ... 8 * g + 7] and their index, 4 bits for each 4 elements;
// lane 16 * g + j holds B[8 * g ... 8 * g + 7][j]. Results as for 16 above.
static void tern_multiply_sparse(uint32_t site, uint64_t a, const uint64_t* b, const float* c, uint32_t index,
                                 uint32_t cbsz, uint32_t abid, float* to, tern_element element) {
  if (cbsz != 0 || abid != 0) tern_fail("smfmac with cbsz or abid, which the emulator lacks");
  for (uint32_t block = 0; block < 2; ++block) {
    if ((index >> (4 * block) & 3) >= (index >> (4 * block + 2) & 3)) tern_fail("smfmac with indices not in order");
  }
  uint64_t kept[kWave], indices[kWave];
  const struct tern_exchanged first = tern_exchange(site, a, index);
  if (~first.active != 0) tern_fail("smfmac in a wave with inactive lanes");
  for (uint32_t lane = 0; lane < kWave; ++lane) {
    kept[lane] = first.wave[lane].taken[0];
    indices[lane] = first.wave[lane].taken[1];
  }
  const struct tern_exchanged all = tern_exchange(site, b[0], b[1]);
  for (uint32_t r = 0; r < 4; ++r) {
    const uint32_t row = 4 * (all.lane / 16) + r, column = all.lane % 16;
    float sum = c[r];
    for (uint32_t g = 0; g < 4; ++g) {
      for (uint32_t i = 0; i < 4; ++i) {
        const uint32_t place = (uint32_t)indices[16 * g + row] >> (2 * i) & 3;
        const uint64_t right = all.wave[16 * g + column].taken[i / 2];
        sum = __builtin_fmaf(element(kept[16 * g + row], i), element(right, place), sum);
      }
    }
    to[r] = sum;
  }
}

#define TERN_SMFMAC(NAME, ELEMENT)                                                                                    \
  void tern_amdgcn_smfmac_##NAME(uint32_t site, const uint64_t* a, const uint64_t* b, const float* c, uint32_t index, \
                                 uint32_t cbsz, uint32_t abid, float* to) {                                           \
    tern_multiply_sparse(site, *a, b, c, index, cbsz, abid, to, ELEMENT);                                             \
  }
TERN_SMFMAC(f32_16x16x32_f16, tern_widen_half)
TERN_SMFMAC(f32_16x16x32_bf16, tern_widen_bfloat)

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
