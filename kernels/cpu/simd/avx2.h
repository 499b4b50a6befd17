// AVX2 with FMA and F16C: 16 registers of 32 bytes.
#include <immintrin.h>

namespace tern::simd {
namespace {

constexpr int kLanes = 8, kRegisters = 16;
#include "kernels/cpu/simd/registers.h"

#include "kernels/cpu/simd/partial.h"

/// a * b + c in each lane, rounded once.
template <class V>
[[gnu::always_inline]] inline V fused(V a, V b, V c) {
  if constexpr (sizeof(V) == 32) return _mm256_fmadd_ps(a, b, c);
  return a * b + c;
}
template <class V>
[[gnu::always_inline]] inline V fused(float a, V b, V c) {
  if constexpr (sizeof(V) == 32) return _mm256_fmadd_ps(_mm256_set1_ps(a), b, c);
  return a * b + c;
}
/// A register of float16, given by their bits, widened.
inline Vector widen_halves(const std::uint16_t* from) {
  return reinterpret_cast<Vector>(_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
}

}  // namespace
}  // namespace tern::simd
