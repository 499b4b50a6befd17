// Any processor: what compilers make of vectors of 16 bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace tern::simd {
inline namespace baseline {

inline constexpr int kBytes = 16, kRegisters = 16;
inline constexpr bool kFused = false;
#include "kernels/cpu/simd/registers.h"
#include "kernels/cpu/simd/some_lanes.h"

TERN_SIMD_INLINE void store_past_caches(float* to, Floats v) {
#if defined(__SSE2__)
  _mm_stream_ps(to, v);
#else
  store(to, v);
#endif
}

TERN_SIMD_INLINE Floats fused(Floats a, Floats b, Floats c) {
  return a * b + c;
}
TERN_SIMD_INLINE Floats fused(float a, Floats b, Floats c) {
  return a * b + c;
}
// The C library fuses where the processor does not.
TERN_SIMD_INLINE Floats fused_exactly(float a, Floats b, Floats c) {
  for (int i = 0; i < kLanes; ++i) c[i] = __builtin_fmaf(a, b[i], c[i]);
  return c;
}
TERN_SIMD_INLINE Doubles fused_exactly(double a, Doubles b, Doubles c) {
  for (int i = 0; i < kLanes / 2; ++i) c[i] = __builtin_fma(a, b[i], c[i]);
  return c;
}

TERN_SIMD_INLINE Floats least(Floats x, Floats y) {
  return least_of_vectors(x, y);
}
TERN_SIMD_INLINE Floats greatest(Floats x, Floats y) {
  return greatest_of_vectors(x, y);
}

/// The exponent's bias is 15, not 127; numbers below the normal ones come right by the multiplication too.
TERN_SIMD_INLINE Floats widen_half(const void* from) {
  Halves narrow;
  __builtin_memcpy(&narrow, from, sizeof narrow);
  const Words h = __builtin_convertvector(narrow, Words);
  const Floats scaled = reinterpret_cast<Floats>((h & 0x7fff) << 13) * 0x1p112F;
  const Words special = reinterpret_cast<Words>((h & 0x7c00) == 0x7c00) & 0x7f800000;
  return reinterpret_cast<Floats>(reinterpret_cast<Words>(scaled) | special | (h & 0x8000) << 16);
}

#include "kernels/cpu/simd/small_floats.h"

}  // namespace baseline
}  // namespace tern::simd
