// AVX-512 F, BW, DQ and VL. Files also compiled for AVX512_BF16 have a separate namespace.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace tern::simd {
#ifdef __AVX512BF16__
inline namespace avx512bf16 {
#else
inline namespace avx512 {
#endif

inline constexpr int kBytes = 64, kRegisters = 32;
inline constexpr bool kFused = true;
#include "kernels/cpu/simd/registers.h"

TERN_SIMD_INLINE __mmask16 first_lanes(std::ptrdiff_t count) {
  return static_cast<__mmask16>((1u << count) - 1);
}
TERN_SIMD_INLINE Floats load_some(const float* from, std::ptrdiff_t count) {
  return _mm512_maskz_loadu_ps(first_lanes(count), from);
}
TERN_SIMD_INLINE void store_some(float* to, Floats v, std::ptrdiff_t count) {
  _mm512_mask_storeu_ps(to, first_lanes(count), v);
}
TERN_SIMD_INLINE void store_past_caches(float* to, Floats v) {
  _mm512_stream_ps(to, v);
}

TERN_SIMD_INLINE Floats fma(Floats a, Floats b, Floats c) {
  return _mm512_fmadd_ps(a, b, c);
}
TERN_SIMD_INLINE Floats fma(float a, Floats b, Floats c) {
  return _mm512_fmadd_ps(_mm512_set1_ps(a), b, c);
}
TERN_SIMD_INLINE Floats exact_fma(float a, Floats b, Floats c) {
  return fma(a, b, c);
}
TERN_SIMD_INLINE Doubles exact_fma(double a, Doubles b, Doubles c) {
  return _mm512_fmadd_pd(_mm512_set1_pd(a), b, c);
}

TERN_SIMD_INLINE Floats root(Floats x) {
  return _mm512_maskz_sqrt_ps(0xffff, x);
}
TERN_SIMD_INLINE Doubles root(Doubles x) {
  return _mm512_maskz_sqrt_pd(0xff, x);
}

TERN_SIMD_INLINE Floats min(Floats x, Floats y) {
  return _mm512_mask_min_ps(x, _mm512_cmp_ps_mask(x, x, _CMP_ORD_Q), x, y);
}
TERN_SIMD_INLINE Floats max(Floats x, Floats y) {
  return _mm512_mask_max_ps(x, _mm512_cmp_ps_mask(x, x, _CMP_ORD_Q), x, y);
}

// GCC 12 warns about its own header in the unmasked forms.
TERN_SIMD_INLINE Floats clamp(Floats x, Floats low, Floats high) {
  return _mm512_maskz_min_ps(0xffff, high, _mm512_maskz_max_ps(0xffff, low, x));  // NaN gives the second operand
}
TERN_SIMD_INLINE Integers rounded(Floats x) {
  return reinterpret_cast<Integers>(_mm512_maskz_cvtps_epi32(0xffff, x));
}
TERN_SIMD_INLINE void store_low_bytes(void* to, Integers w) {
  _mm_storeu_si128(static_cast<__m128i*>(to), _mm512_maskz_cvtepi32_epi8(0xffff, reinterpret_cast<__m512i>(w)));
}
TERN_SIMD_INLINE void store_some_low_bytes(void* to, Integers w, std::ptrdiff_t count) {
  _mm512_mask_cvtepi32_storeu_epi8(to, first_lanes(count), reinterpret_cast<__m512i>(w));
}

TERN_SIMD_INLINE Floats times_power(Floats p, Floats n, Integers) {
  return _mm512_maskz_scalef_ps(0xffff, p, n);
}
TERN_SIMD_INLINE Floats widen_half(const void* from) {
  return _mm512_maskz_cvtph_ps(0xffff, _mm256_loadu_si256(static_cast<const __m256i*>(from)));
}
TERN_SIMD_INLINE Floats widen_halves(Halves h) {
  return _mm512_maskz_cvtph_ps(0xffff, reinterpret_cast<__m256i>(h));
}

TERN_SIMD_INLINE Floats load_places(const float* from, Words places) {
  return _mm512_maskz_permutexvar_ps(0xffff, reinterpret_cast<__m512i>(places), _mm512_loadu_ps(from));
}

inline constexpr bool kPermutes = true;
TERN_SIMD_INLINE Floats permute(const float* table, Words places) {
  return _mm512_maskz_permutexvar_ps(0xffff, reinterpret_cast<__m512i>(places), _mm512_loadu_ps(table));
}

TERN_SIMD_INLINE Integers whole_of_int8(const void* from) {
  return reinterpret_cast<Integers>(
      _mm512_maskz_cvtepi8_epi32(0xffff, _mm_loadu_si128(static_cast<const __m128i*>(from))));
}
TERN_SIMD_INLINE Integers whole_of_uint8(const void* from) {
  return reinterpret_cast<Integers>(
      _mm512_maskz_cvtepu8_epi32(0xffff, _mm_loadu_si128(static_cast<const __m128i*>(from))));
}
TERN_SIMD_INLINE Halves halves_of_codes(const void* from) {
  return reinterpret_cast<Halves>(_mm256_cvtepu8_epi16(_mm_loadu_si128(static_cast<const __m128i*>(from))));
}
#include "kernels/cpu/simd/bytes.h"

using Longs = long long __attribute__((vector_size(64)));
/// Widens the two vectors' numbers packed in a single vector of halves.
TERN_SIMD_INLINE void widen_two(__m512i halves, Floats (&to)[2]) {
  const auto all = reinterpret_cast<Longs>(halves);
  const auto low = __builtin_shufflevector(all, all, 0, 1, 2, 3), high = __builtin_shufflevector(all, all, 4, 5, 6, 7);
  to[0] = _mm512_maskz_cvtph_ps(0xffff, reinterpret_cast<__m256i>(low));
  to[1] = _mm512_maskz_cvtph_ps(0xffff, reinterpret_cast<__m256i>(high));
}
TERN_SIMD_INLINE void widen_two_float8_e5m2(const void* from, Floats (&to)[2]) {
  const __m512i codes = _mm512_cvtepu8_epi16(_mm256_loadu_si256(static_cast<const __m256i*>(from)));
  widen_two(_mm512_slli_epi16(codes, 8), to);
}
/// Like the versions for a single vector (bytes.h): the sign, repeated by the conversion, clears the bit above the
/// magnitude.
TERN_SIMD_INLINE void widen_two_float8_e4m3fn(const void* from, Floats (&to)[2]) {
  const __m512i codes = _mm512_cvtepi8_epi16(_mm256_loadu_si256(static_cast<const __m256i*>(from)));
  const __m512i halves = _mm512_and_si512(_mm512_slli_epi16(codes, 7), _mm512_set1_epi16(static_cast<short>(0xbf80)));
  const __m512i next = _mm512_add_epi16(halves, _mm512_set1_epi16(0x80));
  widen_two(_mm512_ternarylogic_epi64(halves, next, _mm512_set1_epi16(0x4000), 0xf8), to);
  for (Floats& f : to) f *= 256.0F;
}
}
}  // namespace tern::simd
