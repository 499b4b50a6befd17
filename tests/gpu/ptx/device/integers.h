/* Integer instructions, a function for each type: opcode_type. */
#ifndef TERN_TESTS_GPU_PTX_INTEGERS_H
#define TERN_TESTS_GPU_PTX_INTEGERS_H

#include "tests/gpu/ptx/device/bits.h"

#define TERN_INTEGER(N, W)                                                                                  \
  TERN_INLINE u##N add_u##N(u##N a, u##N b) {                                                               \
    return (u##N)(a + b);                                                                                   \
  }                                                                                                         \
  TERN_INLINE s##N add_s##N(s##N a, s##N b) {                                                               \
    return (s##N)((u##N)a + (u##N)b);                                                                       \
  }                                                                                                         \
  TERN_INLINE u##N sub_u##N(u##N a, u##N b) {                                                               \
    return (u##N)(a - b);                                                                                   \
  }                                                                                                         \
  TERN_INLINE s##N sub_s##N(s##N a, s##N b) {                                                               \
    return (s##N)((u##N)a - (u##N)b);                                                                       \
  }                                                                                                         \
  TERN_INLINE u##N mul_lo_u##N(u##N a, u##N b) {                                                            \
    return (u##N)((u##W)a * b);                                                                             \
  }                                                                                                         \
  TERN_INLINE s##N mul_lo_s##N(s##N a, s##N b) {                                                            \
    return (s##N)((u##W)a * (u##W)b);                                                                       \
  }                                                                                                         \
  TERN_INLINE u##N mul_hi_u##N(u##N a, u##N b) {                                                            \
    return (u##N)((u##W)a * b >> N);                                                                        \
  }                                                                                                         \
  TERN_INLINE s##N mul_hi_s##N(s##N a, s##N b) {                                                            \
    return (s##N)((s##W)a * b >> N);                                                                        \
  }                                                                                                         \
  TERN_INLINE u##N mad_lo_u##N(u##N a, u##N b, u##N c) {                                                    \
    return (u##N)(mul_lo_u##N(a, b) + c);                                                                   \
  }                                                                                                         \
  TERN_INLINE s##N mad_lo_s##N(s##N a, s##N b, s##N c) {                                                    \
    return add_s##N(mul_lo_s##N(a, b), c);                                                                  \
  }                                                                                                         \
  TERN_INLINE u##N mad_hi_u##N(u##N a, u##N b, u##N c) {                                                    \
    return (u##N)(mul_hi_u##N(a, b) + c);                                                                   \
  }                                                                                                         \
  TERN_INLINE s##N mad_hi_s##N(s##N a, s##N b, s##N c) {                                                    \
    return add_s##N(mul_hi_s##N(a, b), c);                                                                  \
  }                                                                                                         \
  TERN_INLINE u##N sad_u##N(u##N a, u##N b, u##N c) {                                                       \
    return (u##N)(c + (a < b ? b - a : a - b));                                                             \
  }                                                                                                         \
  TERN_INLINE s##N sad_s##N(s##N a, s##N b, s##N c) {                                                       \
    return (s##N)((u##N)c + (a < b ? (u##N)b - (u##N)a : (u##N)a - (u##N)b));                               \
  }                                                                                                         \
  /* "Division by zero yields an unspecified, machine-specific value": all ones, like NVIDIA's hardware. */ \
  TERN_INLINE u##N div_u##N(u##N a, u##N b) {                                                               \
    return b == 0 ? (u##N) - 1 : (u##N)(a / b);                                                             \
  }                                                                                                         \
  TERN_INLINE s##N div_s##N(s##N a, s##N b) {                                                               \
    return b == 0 ? (s##N) - 1 : b == -1 ? (s##N)(0 - (u##N)a) : (s##N)(a / b);                             \
  }                                                                                                         \
  TERN_INLINE u##N rem_u##N(u##N a, u##N b) {                                                               \
    return b == 0 ? a : (u##N)(a % b);                                                                      \
  }                                                                                                         \
  TERN_INLINE s##N rem_s##N(s##N a, s##N b) {                                                               \
    return b == 0 ? a : b == -1 ? (s##N)0 : (s##N)(a % b);                                                  \
  }                                                                                                         \
  TERN_INLINE s##N neg_s##N(s##N a) {                                                                       \
    return (s##N)(0 - (u##N)a);                                                                             \
  }                                                                                                         \
  TERN_INLINE s##N abs_s##N(s##N a) {                                                                       \
    return a < 0 ? neg_s##N(a) : a;                                                                         \
  }                                                                                                         \
  TERN_INLINE u##N min_u##N(u##N a, u##N b) {                                                               \
    return a < b ? a : b;                                                                                   \
  }                                                                                                         \
  TERN_INLINE s##N min_s##N(s##N a, s##N b) {                                                               \
    return a < b ? a : b;                                                                                   \
  }                                                                                                         \
  TERN_INLINE u##N max_u##N(u##N a, u##N b) {                                                               \
    return a > b ? a : b;                                                                                   \
  }                                                                                                         \
  TERN_INLINE s##N max_s##N(s##N a, s##N b) {                                                               \
    return a > b ? a : b;                                                                                   \
  }                                                                                                         \
  TERN_INLINE u##N and_b##N(u##N a, u##N b) {                                                               \
    return a & b;                                                                                           \
  }                                                                                                         \
  TERN_INLINE u##N or_b##N(u##N a, u##N b) {                                                                \
    return a | b;                                                                                           \
  }                                                                                                         \
  TERN_INLINE u##N xor_b##N(u##N a, u##N b) {                                                               \
    return a ^ b;                                                                                           \
  }                                                                                                         \
  TERN_INLINE u##N not_b##N(u##N a) {                                                                       \
    return (u##N) ~a;                                                                                       \
  }                                                                                                         \
  TERN_INLINE u##N cnot_b##N(u##N a) {                                                                      \
    return a == 0;                                                                                          \
  }                                                                                                         \
  /* "Shift amounts greater than the register width N are clamped to N." */                                 \
  TERN_INLINE u##N shl_b##N(u##N a, u32 b) {                                                                \
    return b >= N ? 0 : (u##N)(a << b);                                                                     \
  }                                                                                                         \
  TERN_INLINE u##N shr_b##N(u##N a, u32 b) {                                                                \
    return b >= N ? 0 : (u##N)(a >> b);                                                                     \
  }                                                                                                         \
  TERN_INLINE u##N shr_u##N(u##N a, u32 b) {                                                                \
    return shr_b##N(a, b);                                                                                  \
  }                                                                                                         \
  TERN_INLINE s##N shr_s##N(s##N a, u32 b) {                                                                \
    return (s##N)(a >> (b >= N ? N - 1 : b));                                                               \
  }                                                                                                         \
  TERN_INLINE int eq_u##N(u##N a, u##N b) {                                                                 \
    return a == b;                                                                                          \
  }                                                                                                         \
  TERN_INLINE int ne_u##N(u##N a, u##N b) {                                                                 \
    return a != b;                                                                                          \
  }                                                                                                         \
  TERN_INLINE int lt_u##N(u##N a, u##N b) {                                                                 \
    return a < b;                                                                                           \
  }                                                                                                         \
  TERN_INLINE int le_u##N(u##N a, u##N b) {                                                                 \
    return a <= b;                                                                                          \
  }                                                                                                         \
  TERN_INLINE int gt_u##N(u##N a, u##N b) {                                                                 \
    return a > b;                                                                                           \
  }                                                                                                         \
  TERN_INLINE int ge_u##N(u##N a, u##N b) {                                                                 \
    return a >= b;                                                                                          \
  }                                                                                                         \
  TERN_INLINE int eq_s##N(s##N a, s##N b) {                                                                 \
    return a == b;                                                                                          \
  }                                                                                                         \
  TERN_INLINE int ne_s##N(s##N a, s##N b) {                                                                 \
    return a != b;                                                                                          \
  }                                                                                                         \
  TERN_INLINE int lt_s##N(s##N a, s##N b) {                                                                 \
    return a < b;                                                                                           \
  }                                                                                                         \
  TERN_INLINE int le_s##N(s##N a, s##N b) {                                                                 \
    return a <= b;                                                                                          \
  }                                                                                                         \
  TERN_INLINE int gt_s##N(s##N a, s##N b) {                                                                 \
    return a > b;                                                                                           \
  }                                                                                                         \
  TERN_INLINE int ge_s##N(s##N a, s##N b) {                                                                 \
    return a >= b;                                                                                          \
  }                                                                                                         \
  TERN_INLINE int eq_b##N(u##N a, u##N b) {                                                                 \
    return a == b;                                                                                          \
  }                                                                                                         \
  TERN_INLINE int ne_b##N(u##N a, u##N b) {                                                                 \
    return a != b;                                                                                          \
  }
TERN_INTEGER(16, 32)
TERN_INTEGER(32, 64)
TERN_INTEGER(64, 128)
#undef TERN_INTEGER

#define TERN_WIDE(N, W)                                    \
  TERN_INLINE u##W mul_wide_u##N(u##N a, u##N b) {         \
    return (u##W)a * b;                                    \
  }                                                        \
  TERN_INLINE s##W mul_wide_s##N(s##N a, s##N b) {         \
    return (s##W)a * b;                                    \
  }                                                        \
  TERN_INLINE u##W mad_wide_u##N(u##N a, u##N b, u##W c) { \
    return (u##W)((u##W)a * b + c);                        \
  }                                                        \
  TERN_INLINE s##W mad_wide_s##N(s##N a, s##N b, s##W c) { \
    return add_s##W((s##W)a * b, c);                       \
  }
TERN_WIDE(16, 32)
TERN_WIDE(32, 64)
#undef TERN_WIDE

/* ".sat limits result to MININT..MAXINT (no overflow) for the size of the operation", of s32 alone. */
TERN_INLINE s32 clamp_s32(s64 a) {
  return a < INT32_MIN ? INT32_MIN : a > INT32_MAX ? INT32_MAX : (s32)a;
}
TERN_INLINE s32 add_sat_s32(s32 a, s32 b) {
  return clamp_s32((s64)a + b);
}
TERN_INLINE s32 sub_sat_s32(s32 a, s32 b) {
  return clamp_s32((s64)a - b);
}
TERN_INLINE s32 mad_hi_sat_s32(s32 a, s32 b, s32 c) {
  return clamp_s32(((s64)a * b >> 32) + c);
}

/* "mul24.lo and mul24.hi return bits 31..0 and 47..16 of the 48-bit result" of the low 24 bits. */
TERN_INLINE s64 low24_s32(s32 a) {
  return (s32)((u32)a << 8) >> 8;
}
TERN_INLINE u32 mul24_lo_u32(u32 a, u32 b) {
  return (u32)((u64)(a & 0xffffff) * (b & 0xffffff));
}
TERN_INLINE u32 mul24_hi_u32(u32 a, u32 b) {
  return (u32)((u64)(a & 0xffffff) * (b & 0xffffff) >> 16);
}
TERN_INLINE s32 mul24_lo_s32(s32 a, s32 b) {
  return (s32)(low24_s32(a) * low24_s32(b));
}
TERN_INLINE s32 mul24_hi_s32(s32 a, s32 b) {
  return (s32)(low24_s32(a) * low24_s32(b) >> 16);
}
TERN_INLINE u32 mad24_lo_u32(u32 a, u32 b, u32 c) {
  return mul24_lo_u32(a, b) + c;
}
TERN_INLINE u32 mad24_hi_u32(u32 a, u32 b, u32 c) {
  return mul24_hi_u32(a, b) + c;
}
TERN_INLINE s32 mad24_lo_s32(s32 a, s32 b, s32 c) {
  return add_s32(mul24_lo_s32(a, b), c);
}
TERN_INLINE s32 mad24_hi_s32(s32 a, s32 b, s32 c) {
  return add_s32(mul24_hi_s32(a, b), c);
}

TERN_INLINE u8 and_pred(u8 a, u8 b) {
  return a & b;
}
TERN_INLINE u8 or_pred(u8 a, u8 b) {
  return a | b;
}
TERN_INLINE u8 xor_pred(u8 a, u8 b) {
  return a ^ b;
}
TERN_INLINE u8 not_pred(u8 a) {
  return !a;
}

#endif
