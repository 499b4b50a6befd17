// A fused multiply-add of a float and the lanes of a register, whatever a compiler thinks of contraction. Included
// where the instruction set is known; nothing here may have linkage.
#pragma once

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace tern {
namespace {

/// a * b + c in each lane: rounded once where the instruction set has such an instruction.
template <class V>
[[gnu::always_inline]] inline V fused(float a, V b, V c) {
#ifdef __AVX512F__
  if constexpr (sizeof(V) == 64) return _mm512_fmadd_ps(_mm512_set1_ps(a), b, c);
#endif
#ifdef __FMA__
  if constexpr (sizeof(V) == 32) return _mm256_fmadd_ps(_mm256_set1_ps(a), b, c);
#endif
  return a * b + c;
}
template <class V>
[[gnu::always_inline]] inline V fused(V a, V b, V c) {
#ifdef __AVX512F__
  if constexpr (sizeof(V) == 64) return _mm512_fmadd_ps(a, b, c);
#endif
#ifdef __FMA__
  if constexpr (sizeof(V) == 32) return _mm256_fmadd_ps(a, b, c);
#endif
  return a * b + c;
}

}  // namespace
}  // namespace tern
