/* Instructions on bits, bytes and fields of integers. */
#ifndef TERN_TESTS_GPU_PTX_BIT_FIELDS_H
#define TERN_TESTS_GPU_PTX_BIT_FIELDS_H

#include "tests/gpu/ptx/device/integers.h"

TERN_INLINE u32 popc_b32(u32 a) {
  return (u32)__builtin_popcount(a);
}
TERN_INLINE u32 popc_b64(u64 a) {
  return (u32)__builtin_popcountll(a);
}
TERN_INLINE u32 clz_b32(u32 a) {
  return a ? (u32)__builtin_clz(a) : 32;
}
TERN_INLINE u32 clz_b64(u64 a) {
  return a ? (u32)__builtin_clzll(a) : 64;
}

/* "Find the bit position of the most significant non-sign bit ... If no non-sign bit is found, bfind returns
 * 0xffffffff." .shiftamt gives the left shift of the bit to the top. */
TERN_INLINE u32 bfind_u32(u32 a) {
  return a ? 31 - clz_b32(a) : ~0u;
}
TERN_INLINE u32 bfind_u64(u64 a) {
  return a ? 63 - clz_b64(a) : ~0u;
}
TERN_INLINE u32 bfind_s32(s32 a) {
  return bfind_u32((u32)(a < 0 ? ~a : a));
}
TERN_INLINE u32 bfind_s64(s64 a) {
  return bfind_u64((u64)(a < 0 ? ~a : a));
}
TERN_INLINE u32 shift_amount(u32 position, u32 top) {
  return position == ~0u ? ~0u : top - position;
}
TERN_INLINE u32 bfind_shiftamt_u32(u32 a) {
  return shift_amount(bfind_u32(a), 31);
}
TERN_INLINE u32 bfind_shiftamt_u64(u64 a) {
  return shift_amount(bfind_u64(a), 63);
}
TERN_INLINE u32 bfind_shiftamt_s32(s32 a) {
  return shift_amount(bfind_s32(a), 31);
}
TERN_INLINE u32 bfind_shiftamt_s64(s64 a) {
  return shift_amount(bfind_s64(a), 63);
}

TERN_INLINE u64 brev_b64(u64 a) {
  u64 r = 0;
  for (int i = 0; i < 64; ++i) r |= (a >> i & 1) << (63 - i);
  return r;
}
TERN_INLINE u32 brev_b32(u32 a) {
  return (u32)(brev_b64(a) >> 32);
}

/* The n-th set bit from a base, upwards or downwards: "fns.b32 d, mask, base, offset". */
TERN_INLINE u32 fns_b32(u32 mask, u32 base, s32 offset) {
  if (offset == 0) return base < 32 && mask >> base & 1 ? base : ~0u;
  const s32 step = offset > 0 ? 1 : -1;
  u32 left = (u32)(offset > 0 ? offset : -offset);
  for (s32 at = (s32)base; at >= 0 && at < 32; at += step) {
    if (mask >> at & 1 && --left == 0) return (u32)at;
  }
  return ~0u;
}

/* "The pos and len are restricted to the 8-bit value range 0..255"; a signed field beyond the top takes the sign bit
 * of the value. */
#define TERN_FIELDS(N)                                                             \
  TERN_INLINE u##N bfe_u##N(u##N a, u32 pos, u32 len) {                            \
    pos &= 255, len &= 255;                                                        \
    if (pos >= N || len == 0) return 0;                                            \
    const u##N moved = a >> pos;                                                   \
    return len >= N ? moved : moved & (((u##N)1 << len) - 1);                      \
  }                                                                                \
  TERN_INLINE s##N bfe_s##N(s##N a, u32 pos, u32 len) {                            \
    pos &= 255, len &= 255;                                                        \
    if (len == 0) return 0;                                                        \
    if (pos >= N) return a >> (N - 1);                                             \
    const s##N moved = a >> pos;                                                   \
    return len >= N - pos ? moved : (s##N)((u##N)moved << (N - len)) >> (N - len); \
  }                                                                                \
  TERN_INLINE u##N bfi_b##N(u##N a, u##N b, u32 pos, u32 len) {                    \
    pos &= 255, len &= 255;                                                        \
    if (pos >= N || len == 0) return b;                                            \
    const u##N field = (len >= N ? ~(u##N)0 : ((u##N)1 << len) - 1) << pos;        \
    return (b & ~field) | (a << pos & field);                                      \
  }
TERN_FIELDS(32)
TERN_FIELDS(64)
#undef TERN_FIELDS

/* A mask of b bits from bit a on. */
TERN_INLINE u32 bmsk_clamp_b32(u32 a, u32 b) {
  return a >= 32 ? 0 : (b >= 32 ? ~0u : (1u << b) - 1) << a;
}
TERN_INLINE u32 bmsk_wrap_b32(u32 a, u32 b) {
  return bmsk_clamp_b32(a & 31, b & 31);
}
/* The value of the low b bits. */
TERN_INLINE u32 szext_clamp_u32(u32 a, u32 b) {
  return bfe_u32(a, 0, b >= 32 ? 32 : b);
}
TERN_INLINE s32 szext_clamp_s32(s32 a, u32 b) {
  return bfe_s32(a, 0, b >= 32 ? 32 : b);
}
TERN_INLINE u32 szext_wrap_u32(u32 a, u32 b) {
  return bfe_u32(a, 0, b & 31);
}
TERN_INLINE s32 szext_wrap_s32(s32 a, u32 b) {
  return bfe_s32(a, 0, b & 31);
}

/* "shf.l: the most significant 32 bits of [b:a] << n; shf.r: the least significant 32 bits of [b:a] >> n". */
TERN_INLINE u32 shf_left(u32 a, u32 b, u32 n) {
  return n == 0 ? b : n >= 32 ? a : b << n | a >> (32 - n);
}
TERN_INLINE u32 shf_right(u32 a, u32 b, u32 n) {
  return n == 0 ? a : n >= 32 ? b : b << (32 - n) | a >> n;
}
TERN_INLINE u32 shf_l_wrap_b32(u32 a, u32 b, u32 c) {
  return shf_left(a, b, c & 31);
}
TERN_INLINE u32 shf_l_clamp_b32(u32 a, u32 b, u32 c) {
  return shf_left(a, b, c > 32 ? 32 : c);
}
TERN_INLINE u32 shf_r_wrap_b32(u32 a, u32 b, u32 c) {
  return shf_right(a, b, c & 31);
}
TERN_INLINE u32 shf_r_clamp_b32(u32 a, u32 b, u32 c) {
  return shf_right(a, b, c > 32 ? 32 : c);
}

/* Bit i of the table is the result for the inputs of number i: a is its bit 2, b its bit 1, c its bit 0. */
TERN_INLINE u32 lop3_b32(u32 a, u32 b, u32 c, u32 table) {
  u32 r = 0;
  if (table & 0x01) r |= ~a & ~b & ~c;
  if (table & 0x02) r |= ~a & ~b & c;
  if (table & 0x04) r |= ~a & b & ~c;
  if (table & 0x08) r |= ~a & b & c;
  if (table & 0x10) r |= a & ~b & ~c;
  if (table & 0x20) r |= a & ~b & c;
  if (table & 0x40) r |= a & b & ~c;
  if (table & 0x80) r |= a & b & c;
  return r;
}

/* Bytes of {b, a}: "msb=1 means replicate the sign" in the default mode alone. */
TERN_INLINE u32 prmt_b32(u32 a, u32 b, u32 c) {
  const u64 bytes = (u64)b << 32 | a;
  u32 r = 0;
  for (int i = 0; i < 4; ++i) {
    const u32 selector = c >> 4 * i & 15;
    u8 byte = (u8)(bytes >> 8 * (selector & 7));
    if (selector & 8) byte = byte & 128 ? 255 : 0;
    r |= (u32)byte << 8 * i;
  }
  return r;
}
TERN_INLINE u32 pick_bytes(u32 a, u32 b, const char* d3_to_d0) {
  u32 c = 0;
  for (int i = 0; i < 4; ++i) c = c << 4 | (u32)(d3_to_d0[i] - '0');
  return prmt_b32(a, b, c);
}
/* The tables of "prmt": bytes d.b3 to d.b0 for each low two bits of c. */
#define TERN_PRMT(mode, s0, s1, s2, s3)                  \
  TERN_INLINE u32 prmt_b32_##mode(u32 a, u32 b, u32 c) { \
    static const char* const rows[] = {s0, s1, s2, s3};  \
    return pick_bytes(a, b, rows[c & 3]);                \
  }
TERN_PRMT(f4e, "3210", "4321", "5432", "6543")
TERN_PRMT(b4e, "5670", "6701", "7012", "0123")
TERN_PRMT(rc8, "0000", "1111", "2222", "3333")
TERN_PRMT(ecl, "3210", "3211", "3222", "3333")
TERN_PRMT(ecr, "0000", "1110", "2210", "3210")
TERN_PRMT(rc16, "1010", "3232", "1010", "3232")
#undef TERN_PRMT

/* Products of bytes: dp4a_TYPE-OF-A_TYPE-OF-B; dp2a takes 16-bit values of a and the low or high bytes of b. */
#define TERN_DOT(ta, tb, a8, b8, a16, result)                                                \
  TERN_INLINE u32 dp4a_##ta##_##tb(u32 a, u32 b, u32 c) {                                    \
    for (int i = 0; i < 4; ++i) c += (u32)((s32)(a8)(a >> 8 * i) * (s32)(b8)(b >> 8 * i));   \
    return c;                                                                                \
  }                                                                                          \
  TERN_INLINE u32 dp2a_lo_##ta##_##tb(u32 a, u32 b, u32 c) {                                 \
    for (int i = 0; i < 2; ++i) c += (u32)((s32)(a16)(a >> 16 * i) * (s32)(b8)(b >> 8 * i)); \
    return c;                                                                                \
  }                                                                                          \
  TERN_INLINE u32 dp2a_hi_##ta##_##tb(u32 a, u32 b, u32 c) {                                 \
    return dp2a_lo_##ta##_##tb(a, b >> 16, c);                                               \
  }
TERN_DOT(u32, u32, u8, u8, u16, u32)
TERN_DOT(u32, s32, u8, s8, u16, s32)
TERN_DOT(s32, u32, s8, u8, s16, s32)
TERN_DOT(s32, s32, s8, s8, s16, s32)
#undef TERN_DOT

#endif
