// AVX-512: 32 registers of 64 bytes, and masks.
#include <immintrin.h>

namespace tern::simd {
namespace {

constexpr int kLanes = 16, kRegisters = 32;
#include "kernels/cpu/simd/registers.h"

inline __mmask16 first_lanes(std::int64_t n) {
  return static_cast<__mmask16>((1u << n) - 1);
}
/// The first `n` lanes of memory, zeros behind them.
inline Vector load_some(const float* from, std::int64_t n) {
  return _mm512_maskz_loadu_ps(first_lanes(n), from);
}
/// Stores the first `n` lanes, fewer than all.
inline void store_some(float* to, Vector v, std::int64_t n) {
  _mm512_mask_storeu_ps(to, first_lanes(n), v);
}
/// Copies `n` floats.
inline void copy_row(const float* from, std::int64_t n, float* to) {
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store(to + i, load(from + i));
  if (i < n) store_some(to + i, load_some(from + i, n - i), n - i);
}
/// a * b + c in each lane, rounded once.
template <class V>
[[gnu::always_inline]] inline V fused(V a, V b, V c) {
  if constexpr (sizeof(V) == 64) return _mm512_fmadd_ps(a, b, c);
  if constexpr (sizeof(V) == 32) return _mm256_fmadd_ps(a, b, c);
  return a * b + c;
}
template <class V>
[[gnu::always_inline]] inline V fused(float a, V b, V c) {
  if constexpr (sizeof(V) == 64) return _mm512_fmadd_ps(_mm512_set1_ps(a), b, c);
  if constexpr (sizeof(V) == 32) return _mm256_fmadd_ps(_mm256_set1_ps(a), b, c);
  return a * b + c;
}
/// A register of float16, given by their bits, widened.
inline Vector widen_halves(const std::uint16_t* from) {
  const __m256i h = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  return reinterpret_cast<Vector>(_mm512_maskz_cvtph_ps(0xffff, h));  // without a mask GCC 12 warns of its own header
}

}  // namespace
}  // namespace tern::simd
