// A loop per type and direction, compiled for several instruction sets and vectorised by the compiler (see the -O3 in
// CMakeLists.txt). Only binary16 has instructions of its own.
#include "dtypes/bulk.h"

#include "dtypes/levels.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace tern {
namespace {

#define TERN_INLINE [[gnu::always_inline]] inline

template <class T>
TERN_INLINE void decode_loop(const T* __restrict src, float* __restrict dst, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) dst[i] = T::decode(src[i].bits);
}

template <class T, Overflow policy>
TERN_INLINE void encode_loop(const float* __restrict src, T* __restrict dst, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) dst[i] = T(src[i], policy);
}

// Conversions of binary16 by instructions of the processor, where it has them.
#if defined(__x86_64__) && defined(__GNUC__)

[[gnu::target("avx2,f16c")]] void decode_halves(const Half* src, float* dst, std::int64_t n) {
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    _mm256_storeu_ps(dst + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(src + i))));
  }
  decode_loop(src + i, dst + i, n - i);
}
[[gnu::target("avx2,f16c")]] void encode_halves(const float* src, Half* dst, std::int64_t n) {
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(dst + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(src + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
  encode_loop<Half, Overflow::saturate>(src + i, dst + i, n - i);
}
bool converts_halves() {
  return !is_baseline_cpu();
}

#elif defined(__aarch64__)

void decode_halves(const Half* src, float* dst, std::int64_t n) {
  std::int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    const uint16x4_t codes = vld1_u16(reinterpret_cast<const std::uint16_t*>(src + i));
    vst1q_f32(dst + i, vcvt_f32_f16(vreinterpret_f16_u16(codes)));
  }
  decode_loop(src + i, dst + i, n - i);
}
void encode_halves(const float* src, Half* dst, std::int64_t n) {
  std::int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    const uint16x4_t codes = vreinterpret_u16_f16(vcvt_f16_f32(vld1q_f32(src + i)));
    vst1_u16(reinterpret_cast<std::uint16_t*>(dst + i), codes);
  }
  encode_loop<Half, Overflow::saturate>(src + i, dst + i, n - i);
}
bool converts_halves() {
  return true;
}

#else

void decode_halves(const Half*, float*, std::int64_t) {}
void encode_halves(const float*, Half*, std::int64_t) {}
bool converts_halves() {
  return false;
}

#endif

template <class T, Overflow policy>
void encode_dispatch(const float* src, T* dst, std::int64_t n) {
  if constexpr (std::is_same_v<T, Half>) {
    return converts_halves() ? encode_halves(src, dst, n) : encode_loop<T, policy>(src, dst, n);
  }
  visit_cpu_level([&](auto) __attribute__((always_inline)) { encode_loop<T, policy>(src, dst, n); });
}

}  // namespace

template <class T>
void decode_run(const T* src, float* dst, std::int64_t n) {
  if constexpr (std::is_same_v<T, Half>) {
    return converts_halves() ? decode_halves(src, dst, n) : decode_loop(src, dst, n);
  }
  visit_cpu_level([&](auto) __attribute__((always_inline)) { decode_loop(src, dst, n); });
}

template <class T>
void encode_run(const float* src, T* dst, std::int64_t n, Overflow policy) {
  if constexpr (std::is_same_v<T, F8E4M3FN>) {
    if (policy == Overflow::to_nan) return encode_dispatch<T, Overflow::to_nan>(src, dst, n);
  }
  encode_dispatch<T, Overflow::saturate>(src, dst, n);
}

// NOLINTBEGIN(bugprone-macro-parentheses): T is a type
#define TERN_BULK_INSTANTIATE(T)                            \
  template void decode_run(const T*, float*, std::int64_t); \
  template void encode_run(const float*, T*, std::int64_t, Overflow);
// NOLINTEND(bugprone-macro-parentheses)
TERN_BULK_INSTANTIATE(Half)
TERN_BULK_INSTANTIATE(BFloat16)
TERN_BULK_INSTANTIATE(F8E4M3FN)
TERN_BULK_INSTANTIATE(F8E5M2)
TERN_BULK_INSTANTIATE(F8E4M3FNUZ)
TERN_BULK_INSTANTIATE(F8E5M2FNUZ)
TERN_BULK_INSTANTIATE(F8E8M0)
TERN_BULK_INSTANTIATE(F6E2M3)
TERN_BULK_INSTANTIATE(F6E3M2)
TERN_BULK_INSTANTIATE(F4E2M1)
#undef TERN_BULK_INSTANTIATE
#undef TERN_INLINE

}  // namespace tern
