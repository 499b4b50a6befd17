// Conversions that compilers call by name, and that the C library's companion lacks before GCC 13.
#include <stdint.h>
#include <string.h>

// To the nearest bfloat16, ties to even; a NaN stays one.
__bf16 __truncsfbf2(float x) {
  uint32_t bits;
  memcpy(&bits, &x, 4);
  const uint16_t high = x != x ? (uint16_t)(bits >> 16 | 0x40) : (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
  __bf16 result;
  memcpy(&result, &high, 2);
  return result;
}
