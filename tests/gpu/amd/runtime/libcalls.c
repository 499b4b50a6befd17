// Conversions called by compilers by name; the C library's companion lacks these before GCC 13.
#include <stdint.h>
#include <string.h>

// Rounds to the nearest bfloat16, ties to even; a NaN stays NaN.
__bf16 __truncsfbf2(float x) {
  uint32_t bits;
  memcpy(&bits, &x, 4);
  const uint16_t high = x != x ? (uint16_t)(bits >> 16 | 0x40) : (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
  __bf16 result;
  memcpy(&result, &high, 2);
  return result;
}
