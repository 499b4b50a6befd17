// AVX2 with FMA and F16C.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace tern::simd {
inline namespace avx2 {

inline constexpr int kBytes = 32, kRegisters = 16;
inline constexpr bool kFused = true;
#include "kernels/cpu/simd/registers.h"
#include "kernels/cpu/simd/some_lanes.h"

TERN_SIMD_INLINE void store_past_caches(float* to, Floats v) {
  _mm256_stream_ps(to, v);
}

TERN_SIMD_INLINE Floats fma(Floats a, Floats b, Floats c) {
  return _mm256_fmadd_ps(a, b, c);
}
TERN_SIMD_INLINE Floats fma(float a, Floats b, Floats c) {
  return _mm256_fmadd_ps(_mm256_set1_ps(a), b, c);
}
TERN_SIMD_INLINE Floats exact_fma(float a, Floats b, Floats c) {
  return fma(a, b, c);
}
TERN_SIMD_INLINE Doubles exact_fma(double a, Doubles b, Doubles c) {
  return _mm256_fmadd_pd(_mm256_set1_pd(a), b, c);
}

TERN_SIMD_INLINE Floats root(Floats x) {
  return _mm256_sqrt_ps(x);
}
TERN_SIMD_INLINE Doubles root(Doubles x) {
  return _mm256_sqrt_pd(x);
}

TERN_SIMD_INLINE Floats min(Floats x, Floats y) {
  return _mm256_blendv_ps(_mm256_min_ps(x, y), x, _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
}
TERN_SIMD_INLINE Floats max(Floats x, Floats y) {
  return _mm256_blendv_ps(_mm256_max_ps(x, y), x, _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
}

TERN_SIMD_INLINE Floats clamp(Floats x, Floats low, Floats high) {
  return _mm256_min_ps(high, _mm256_max_ps(low, x));  // NaN gives the second operand
}
TERN_SIMD_INLINE Integers rounded(Floats x) {
  return reinterpret_cast<Integers>(_mm256_cvtps_epi32(x));
}
TERN_SIMD_INLINE void store_low_bytes(void* to, Integers w) {
  const __m256i low = _mm256_set1_epi32(0x0c080400);  // low bytes of four words, four times
  const __m256i quads = _mm256_shuffle_epi8(reinterpret_cast<__m256i>(w), low);
  const __m256i both = _mm256_permutevar8x32_epi32(quads, _mm256_setr_epi32(0, 4, 0, 4, 0, 4, 0, 4));
  _mm_storel_epi64(static_cast<__m128i*>(to), _mm256_castsi256_si128(both));
}

TERN_SIMD_INLINE Floats widen_half(const void* from) {
  return _mm256_cvtph_ps(_mm_loadu_si128(static_cast<const __m128i*>(from)));
}
TERN_SIMD_INLINE Floats widen_halves(Halves h) {
  return _mm256_cvtph_ps(reinterpret_cast<__m128i>(h));
}

TERN_SIMD_INLINE Floats load_places(const float* from, Words places) {
  return _mm256_permutevar8x32_ps(_mm256_loadu_ps(from), reinterpret_cast<__m256i>(places));
}

inline constexpr bool kPermutes = true;
TERN_SIMD_INLINE Floats permute(const float* table, Words places) {
  const auto at = reinterpret_cast<__m256i>(places);
  return _mm256_blendv_ps(_mm256_permutevar8x32_ps(_mm256_loadu_ps(table), at),
                          _mm256_permutevar8x32_ps(_mm256_loadu_ps(table + 8), at),
                          _mm256_castsi256_ps(_mm256_slli_epi32(at, 28)));
}

TERN_SIMD_INLINE Integers whole_of_int8(const void* from) {
  return reinterpret_cast<Integers>(_mm256_cvtepi8_epi32(_mm_loadl_epi64(static_cast<const __m128i*>(from))));
}
TERN_SIMD_INLINE Integers whole_of_uint8(const void* from) {
  return reinterpret_cast<Integers>(_mm256_cvtepu8_epi32(_mm_loadl_epi64(static_cast<const __m128i*>(from))));
}
TERN_SIMD_INLINE Halves halves_of_codes(const void* from) {
  return reinterpret_cast<Halves>(_mm_cvtepu8_epi16(_mm_loadl_epi64(static_cast<const __m128i*>(from))));
}
#include "kernels/cpu/simd/bytes.h"
#include "kernels/cpu/simd/some_bytes.h"
#include "kernels/cpu/simd/two_registers.h"

}  // namespace avx2
}  // namespace tern::simd
