// Any processor: compilers' code for vectors of 16 bytes.
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

TERN_SIMD_INLINE Floats fma(Floats a, Floats b, Floats c) {
  return a * b + c;
}
TERN_SIMD_INLINE Floats fma(float a, Floats b, Floats c) {
  return a * b + c;
}
// The C library fuses if the processor cannot.
TERN_SIMD_INLINE Floats exact_fma(float a, Floats b, Floats c) {
  for (int i = 0; i < kLanes; ++i) c[i] = __builtin_fmaf(a, b[i], c[i]);
  return c;
}
TERN_SIMD_INLINE Doubles exact_fma(double a, Doubles b, Doubles c) {
  for (int i = 0; i < kLanes / 2; ++i) c[i] = __builtin_fma(a, b[i], c[i]);
  return c;
}

TERN_SIMD_INLINE Floats root(Floats x) {
  for (int i = 0; i < kLanes; ++i) x[i] = __builtin_sqrtf(x[i]);
  return x;
}
TERN_SIMD_INLINE Doubles root(Doubles x) {
  for (int i = 0; i < kLanes / 2; ++i) x[i] = __builtin_sqrt(x[i]);
  return x;
}

TERN_SIMD_INLINE Floats min(Floats x, Floats y) {
  return least_of_vectors(x, y);
}
TERN_SIMD_INLINE Floats max(Floats x, Floats y) {
  return greatest_of_vectors(x, y);
}

TERN_SIMD_INLINE Floats clamp(Floats x, Floats low, Floats high) {
#if defined(__SSE2__)
  return _mm_min_ps(high, _mm_max_ps(low, x));  // NaN gives the second operand
#else
  return min(max(x, low), high);
#endif
}
TERN_SIMD_INLINE Integers rounded(Floats x) {
#if defined(__SSE2__)
  return reinterpret_cast<Integers>(_mm_cvtps_epi32(x));
#else
  Integers w;
  for (int i = 0; i < kLanes; ++i) w[i] = x[i] == x[i] ? static_cast<std::int32_t>(__builtin_rintf(x[i])) : 0;
  return w;
#endif
}
TERN_SIMD_INLINE void store_low_bytes(void* to, Integers w) {
  std::uint8_t bytes[kLanes];
  for (int i = 0; i < kLanes; ++i) bytes[i] = static_cast<std::uint8_t>(w[i]);
  __builtin_memcpy(to, bytes, sizeof bytes);
}

/// The exponent's bias is 15, not 127; the multiplication also normalizes subnormal numbers.
TERN_SIMD_INLINE Floats widen_halves(Halves narrow) {
  const Words h = __builtin_convertvector(narrow, Words);
  const Floats scaled = reinterpret_cast<Floats>((h & 0x7fff) << 13) * 0x1p112F;
  const Words special = reinterpret_cast<Words>((h & 0x7c00) == 0x7c00) & 0x7f800000;
  return reinterpret_cast<Floats>(reinterpret_cast<Words>(scaled) | special | (h & 0x8000) << 16);
}
TERN_SIMD_INLINE Floats widen_half(const void* from) {
  Halves narrow;
  __builtin_memcpy(&narrow, from, sizeof narrow);
  return widen_halves(narrow);
}
#include "kernels/cpu/simd/no_permute.h"

#if defined(__SSE2__)
/// Loads four bytes.
TERN_SIMD_INLINE __m128i load_bytes(const void* from) {
  int bytes;
  __builtin_memcpy(&bytes, from, sizeof bytes);
  return _mm_cvtsi32_si128(bytes);
}
/// Moves each byte to the top of a word, then shifts down with sign extension.
TERN_SIMD_INLINE Integers whole_of_int8(const void* from) {
  const __m128i bytes = load_bytes(from), pairs = _mm_unpacklo_epi8(bytes, bytes);
  return reinterpret_cast<Integers>(_mm_srai_epi32(_mm_unpacklo_epi16(pairs, pairs), 24));
}
TERN_SIMD_INLINE Integers whole_of_uint8(const void* from) {
  const __m128i zero = _mm_setzero_si128();
  return reinterpret_cast<Integers>(_mm_unpacklo_epi16(_mm_unpacklo_epi8(load_bytes(from), zero), zero));
}
#else
template <class Byte>
TERN_SIMD_INLINE Integers whole_of(const void* from) {
  Byte bytes[kLanes];
  __builtin_memcpy(bytes, from, sizeof bytes);
  Integers w;
  for (int i = 0; i < kLanes; ++i) w[i] = bytes[i];
  return w;
}
TERN_SIMD_INLINE Integers whole_of_int8(const void* from) {
  return whole_of<std::int8_t>(from);
}
TERN_SIMD_INLINE Integers whole_of_uint8(const void* from) {
  return whole_of<std::uint8_t>(from);
}
#endif
TERN_SIMD_INLINE Halves halves_of_codes(const void* from) {
  return __builtin_convertvector(whole_of_uint8(from), Halves);
}
#include "kernels/cpu/simd/bytes.h"
#include "kernels/cpu/simd/some_bytes.h"
#include "kernels/cpu/simd/two_registers.h"

}  // namespace baseline
}  // namespace tern::simd
