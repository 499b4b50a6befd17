// load_first: partial loads with the masks of AVX2. Other levels load as simd.h does.
#pragma once

#include "kernels/cpu/simd/simd.h"

namespace tern::simd {
namespace {

/// Loads the first `count` lanes; the others are zero and not read.
TERN_SIMD_INLINE Floats load_first(const float* from, std::ptrdiff_t count) {
#if defined(__AVX2__) && !defined(__AVX512F__)
  const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_maskload_ps(from, _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), lane));
#else
  return load_some(from, count);
#endif
}

}  // namespace
}  // namespace tern::simd
