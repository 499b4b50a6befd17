// Instructions on bits, bytes and 24-bit numbers (CDNA 3 ISA, 12.9).
#ifndef TERN_TESTS_GPU_AMD_RUNTIME_BITS_H
#define TERN_TESTS_GPU_AMD_RUNTIME_BITS_H

#include "run.h"

// "V_BFE_U32: D = (S0 >> S1[4:0]) & ((1 << S2[4:0]) - 1)"; "V_BFE_I32: ... sign extended".
uint32_t tern_amdgcn_ubfe_i32(uint32_t x, uint32_t offset, uint32_t width) {
  return x >> (offset & 31) & ((1u << (width & 31)) - 1);
}
uint32_t tern_amdgcn_sbfe_i32(uint32_t x, uint32_t offset, uint32_t width) {
  const uint32_t bits = width & 31, shifted = (uint32_t)((int32_t)x >> (offset & 31));
  return bits == 0 ? 0 : (uint32_t)((int32_t)(shifted << (32 - bits)) >> (32 - bits));
}

// "V_PERM_B32: byte permute of {S0, S1}: 0-7 a byte, 8-11 a sign of 16 bits, 12 zero, above 0xFF".
uint32_t tern_amdgcn_perm(uint32_t high, uint32_t low, uint32_t selector) {
  const uint64_t bytes = (uint64_t)high << 32 | low;
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    const uint32_t s = selector >> (8 * i) & 0xFF;
    uint32_t byte = 0xFF;
    if (s < 8)
      byte = (uint32_t)(bytes >> (8 * s)) & 0xFF;
    else if (s < 12)
      byte = bytes >> (16 * (s - 8) + 15) & 1 ? 0xFF : 0;
    else if (s == 12)
      byte = 0;
    result |= byte << (8 * i);
  }
  return result;
}
// "V_ALIGNBIT_B32: D = ({S0, S1} >> S2[4:0]) & 0xFFFFFFFF"; "V_ALIGNBYTE_B32: ... >> (8 * S2[1:0])".
uint32_t tern_amdgcn_alignbit(uint32_t high, uint32_t low, uint32_t shift) {
  return (uint32_t)(((uint64_t)high << 32 | low) >> (shift & 31));
}
uint32_t tern_amdgcn_alignbyte(uint32_t high, uint32_t low, uint32_t shift) {
  return (uint32_t)(((uint64_t)high << 32 | low) >> (8 * (shift & 3)));
}

static int64_t tern_signed_24(uint32_t x) {
  return (int32_t)(x << 8) >> 8;
}
uint32_t tern_amdgcn_mul_u24_i32(uint32_t a, uint32_t b) {
  return (a & 0xFFFFFF) * (b & 0xFFFFFF);
}
uint32_t tern_amdgcn_mul_i24_i32(uint32_t a, uint32_t b) {
  return (uint32_t)(tern_signed_24(a) * tern_signed_24(b));
}
uint32_t tern_amdgcn_mul_u24(uint32_t a, uint32_t b) {
  return tern_amdgcn_mul_u24_i32(a, b);
}
uint32_t tern_amdgcn_mul_i24(uint32_t a, uint32_t b) {
  return tern_amdgcn_mul_i24_i32(a, b);
}
uint32_t tern_amdgcn_mulhi_u24(uint32_t a, uint32_t b) {
  return (uint32_t)((uint64_t)(a & 0xFFFFFF) * (b & 0xFFFFFF) >> 32);
}
uint32_t tern_amdgcn_mulhi_i24(uint32_t a, uint32_t b) {
  return (uint32_t)(tern_signed_24(a) * tern_signed_24(b) >> 32);
}

// "S_FLBIT_I32: counts how many bits in a row (from the most significant) are the same as the sign bit; -1 if all are".
uint32_t tern_amdgcn_sffbh_i32(uint32_t x) {
  const uint32_t differs = (int32_t)x < 0 ? ~x : x;
  return differs == 0 ? 0xFFFFFFFFu : (uint32_t)__builtin_clz(differs);
}

// "V_SAD_U8: sum of absolute differences with accumulate"; "V_MSAD_U8: ... overflow into the upper bits is allowed,
// bytes of the reference that are 0 do not count".
static uint32_t tern_byte_difference(uint32_t a, uint32_t b) {
  return a > b ? a - b : b - a;
}
uint32_t tern_amdgcn_sad_u8(uint32_t a, uint32_t b, uint32_t sum) {
  for (int i = 0; i < 32; i += 8) sum += tern_byte_difference(a >> i & 0xFF, b >> i & 0xFF);
  return sum;
}
uint32_t tern_amdgcn_msad_u8(uint32_t a, uint32_t reference, uint32_t sum) {
  for (int i = 0; i < 32; i += 8) {
    const uint32_t byte = reference >> i & 0xFF;
    if (byte != 0) sum += tern_byte_difference(a >> i & 0xFF, byte);
  }
  return sum;
}
// "V_LERP_U8: unsigned 8-bit pixel average; bit 0 of each byte of S2 is the round mode".
uint32_t tern_amdgcn_lerp(uint32_t a, uint32_t b, uint32_t round) {
  uint32_t result = 0;
  for (int i = 0; i < 32; i += 8) result |= ((a >> i & 0xFF) + (b >> i & 0xFF) + (round >> i & 1)) >> 1 << i;
  return result;
}
float tern_amdgcn_cvt_f32_ubyte0(uint32_t x) {
  return (float)(x & 0xFF);
}
float tern_amdgcn_cvt_f32_ubyte1(uint32_t x) {
  return (float)(x >> 8 & 0xFF);
}
float tern_amdgcn_cvt_f32_ubyte2(uint32_t x) {
  return (float)(x >> 16 & 0xFF);
}
float tern_amdgcn_cvt_f32_ubyte3(uint32_t x) {
  return (float)(x >> 24);
}

#endif
