// Products of integers of 8 bits in the words of one instruction set, chosen by what the including file is compiled
// for.
//
//   Widened, WidenedWords   both operands become integers of 16 bits, whose products and sums of two are exact
//   ByteWords               the same lines of bytes, multiplied by the best instructions; WidenedWords without such
//   QuadVector              a vector of sums, to each of which one instruction adds four products of bytes: one with a
//                           sign and one without, or with kSameSigns bytes of the same signs; kHasQuads: there is one
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

#include <cstddef>
#include <cstdint>

namespace tern::simd {
namespace {  // files of other instruction sets have their own

#if defined(__AVX2__)
inline std::int32_t total_of(__m256i sums) {
  __m128i s = _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
  s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4e));
  return _mm_cvtsi128_si32(_mm_add_epi32(s, _mm_shuffle_epi32(s, 0xb1)));
}
#endif
#if defined(__AVX512DQ__)
inline std::int32_t total_of(__m512i sums) {
  return total_of(_mm256_add_epi32(_mm512_castsi512_si256(sums), _mm512_maskz_extracti32x8_epi32(0xff, sums, 1)));
}
#endif

/// Lines of bytes that are widened: kBytes at a time.
#if defined(__AVX512BW__)
struct Widened {
  using Sums = __m512i;
  using Bytes = __m512i;
  static constexpr std::int64_t kBytes = 32;
  static constexpr int kRows = 4;
  static Sums zero() { return _mm512_setzero_si512(); }
  template <bool kSigned>
  static Bytes widen(const std::byte* from) {
    const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    return kSigned ? _mm512_cvtepi8_epi16(bytes) : _mm512_cvtepu8_epi16(bytes);
  }
  static Sums add(Sums sums, Bytes a, Bytes b) { return _mm512_add_epi32(sums, _mm512_madd_epi16(a, b)); }
  static std::int32_t total(Sums sums) { return total_of(sums); }
};
#elif defined(__AVX2__)
struct Widened {
  using Sums = __m256i;
  using Bytes = __m256i;
  static constexpr std::int64_t kBytes = 16;
  static constexpr int kRows = 2;
  static Sums zero() { return _mm256_setzero_si256(); }
  template <bool kSigned>
  static Bytes widen(const std::byte* from) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    return kSigned ? _mm256_cvtepi8_epi16(bytes) : _mm256_cvtepu8_epi16(bytes);
  }
  static Sums add(Sums sums, Bytes a, Bytes b) { return _mm256_add_epi32(sums, _mm256_madd_epi16(a, b)); }
  static std::int32_t total(Sums sums) { return total_of(sums); }
};
#elif defined(__SSE2__)
struct Widened {
  using Sums = __m128i;
  using Bytes = __m128i;
  static constexpr std::int64_t kBytes = 8;
  static constexpr int kRows = 2;
  static Sums zero() { return _mm_setzero_si128(); }
  template <bool kSigned>
  static Bytes widen(const std::byte* from) {
    const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
    return kSigned ? _mm_srai_epi16(_mm_unpacklo_epi8(bytes, bytes), 8) : _mm_unpacklo_epi8(bytes, _mm_setzero_si128());
  }
  static Sums add(Sums sums, Bytes a, Bytes b) { return _mm_add_epi32(sums, _mm_madd_epi16(a, b)); }
  static std::int32_t total(Sums s) {
    s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4e));
    return _mm_cvtsi128_si32(_mm_add_epi32(s, _mm_shuffle_epi32(s, 0xb1)));
  }
};
#elif defined(__ARM_NEON)
struct Widened {
  using Sums = int32x4_t;
  using Bytes = int16x8_t;
  static constexpr std::int64_t kBytes = 8;
  static constexpr int kRows = 4;
  static Sums zero() { return vdupq_n_s32(0); }
  template <bool kSigned>
  static Bytes widen(const std::byte* from) {
    const uint8x8_t bytes = vld1_u8(reinterpret_cast<const std::uint8_t*>(from));
    return kSigned ? vmovl_s8(vreinterpret_s8_u8(bytes)) : vreinterpretq_s16_u16(vmovl_u8(bytes));
  }
  static Sums add(Sums sums, Bytes a, Bytes b) {
    return vmlal_high_s16(vmlal_s16(sums, vget_low_s16(a), vget_low_s16(b)), a, b);
  }
  static std::int32_t total(Sums sums) { return vaddvq_s32(sums); }
};
#else
struct Widened {
  using Sums = std::int32_t;
  using Bytes = std::int32_t;
  static constexpr std::int64_t kBytes = 1;
  static constexpr int kRows = 2;
  static Sums zero() { return 0; }
  template <bool kSigned>
  static Bytes widen(const std::byte* from) {
    const auto byte = static_cast<std::uint8_t>(*from);
    return kSigned ? static_cast<std::int8_t>(byte) : byte;
  }
  static Sums add(Sums sums, Bytes a, Bytes b) {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(sums) + static_cast<std::uint32_t>(a * b));
  }
  static std::int32_t total(Sums sums) { return sums; }
};
#endif

/// Bytes of these signs. kFlips: `weight` gives them the other sign.
template <bool kX, bool kWeight>
struct WidenedWords : Widened {
  static constexpr bool kFlips = false;
  static Bytes x(const std::byte* from) { return widen<kX>(from); }
  static Bytes weight(const std::byte* from) { return widen<kWeight>(from); }
};

#if defined(__AVX512VNNI__)
template <bool kX, bool kWeight>
struct ByteWords {
  using Sums = __m512i;
  using Bytes = __m512i;
  static constexpr bool kFlips = kX == kWeight;
  static constexpr std::int64_t kBytes = 64;
  static constexpr int kRows = 4;
  static Sums zero() { return _mm512_setzero_si512(); }
  static Bytes x(const std::byte* from) { return _mm512_loadu_si512(from); }
  static Bytes weight(const std::byte* from) {
    const __m512i bytes = _mm512_loadu_si512(from);
    return kFlips ? _mm512_xor_si512(bytes, _mm512_set1_epi8(static_cast<char>(0x80))) : bytes;
  }
  static Sums add(Sums sums, Bytes x, Bytes weight) {
    return kX ? _mm512_dpbusd_epi32(sums, weight, x) : _mm512_dpbusd_epi32(sums, x, weight);
  }
  static std::int32_t total(Sums sums) { return total_of(sums); }
};
#elif defined(__ARM_FEATURE_DOTPROD)
/// Adds products of four bytes to each sum, whose signs are the same.
template <bool kSign>
inline int32x4_t dot_of_bytes(int32x4_t sums, uint8x16_t a, uint8x16_t b) {
  if constexpr (kSign) return vdotq_s32(sums, vreinterpretq_s8_u8(a), vreinterpretq_s8_u8(b));
  return vreinterpretq_s32_u32(vdotq_u32(vreinterpretq_u32_s32(sums), a, b));
}
#if defined(__ARM_FEATURE_MATMUL_INT8)
inline constexpr bool kMixesSigns = true;
inline int32x4_t dot_of_mixed_bytes(int32x4_t sums, uint8x16_t plain, uint8x16_t with_sign) {
  return vusdotq_s32(sums, plain, vreinterpretq_s8_u8(with_sign));
}
#else
inline constexpr bool kMixesSigns = false;
inline int32x4_t dot_of_mixed_bytes(int32x4_t sums, uint8x16_t, uint8x16_t) {
  return sums;
}
#endif

template <bool kX, bool kWeight>
struct ByteWords {
  using Sums = int32x4_t;
  using Bytes = uint8x16_t;
  static constexpr bool kFlips = kX != kWeight && !kMixesSigns;
  static constexpr std::int64_t kBytes = 16;
  static constexpr int kRows = 4;
  static Sums zero() { return vdupq_n_s32(0); }
  static Bytes x(const std::byte* from) { return vld1q_u8(reinterpret_cast<const std::uint8_t*>(from)); }
  static Bytes weight(const std::byte* from) { return kFlips ? veorq_u8(x(from), vdupq_n_u8(0x80)) : x(from); }
  static Sums add(Sums sums, Bytes x, Bytes weight) {
    if constexpr (kX == kWeight || kFlips) return dot_of_bytes<kX>(sums, x, weight);
    return kX ? dot_of_mixed_bytes(sums, weight, x) : dot_of_mixed_bytes(sums, x, weight);
  }
  static std::int32_t total(Sums sums) { return vaddvq_s32(sums); }
};
#else
template <bool kX, bool kWeight>
using ByteWords = WidenedWords<kX, kWeight>;
#endif

#if defined(__AVX512VNNI__)
struct QuadVector {
  using Vector = __m512i;
  static constexpr int kLanes = 16;
  static constexpr bool kSameSigns = false;
  static constexpr int kMostTogether = 12;  // rows; with two vectors of columns 24 registers of sums
  static Vector zero() { return _mm512_setzero_si512(); }
  static Vector load(const std::int32_t* from) { return _mm512_load_si512(from); }
  static void store(std::int32_t* to, Vector sums) { _mm512_store_si512(to, sums); }
  static Vector broadcast(std::int32_t group) { return _mm512_set1_epi32(group); }
  template <bool kWeight>
  static Vector dot(Vector sums, Vector weight, Vector x) {
    return kWeight ? _mm512_dpbusd_epi32(sums, x, weight) : _mm512_dpbusd_epi32(sums, weight, x);
  }
};
inline constexpr bool kHasQuads = true;
#elif defined(__AVXVNNI__)
struct QuadVector {
  using Vector = __m256i;
  static constexpr int kLanes = 8;
  static constexpr bool kSameSigns = false;
  static constexpr int kMostTogether = 3;  // rows; with four vectors of columns 12 registers of sums
  static Vector zero() { return _mm256_setzero_si256(); }
  static Vector load(const std::int32_t* from) { return _mm256_load_si256(reinterpret_cast<const __m256i*>(from)); }
  static void store(std::int32_t* to, Vector sums) { _mm256_store_si256(reinterpret_cast<__m256i*>(to), sums); }
  static Vector broadcast(std::int32_t group) { return _mm256_set1_epi32(group); }
  template <bool kWeight>
  static Vector dot(Vector sums, Vector weight, Vector x) {
    return kWeight ? _mm256_dpbusd_avx_epi32(sums, x, weight) : _mm256_dpbusd_avx_epi32(sums, weight, x);
  }
};
inline constexpr bool kHasQuads = true;
#elif defined(__ARM_FEATURE_DOTPROD)
struct QuadVector {
  using Vector = int32x4_t;
  static constexpr int kLanes = 4;
  static constexpr bool kSameSigns = true;
  static constexpr int kMostTogether = 3;  // rows; with eight vectors of columns 24 registers of sums
  static Vector zero() { return vdupq_n_s32(0); }
  static Vector load(const std::int32_t* from) { return vld1q_s32(from); }
  static void store(std::int32_t* to, Vector sums) { vst1q_s32(to, sums); }
  static Vector broadcast(std::int32_t group) { return vdupq_n_s32(group); }
  template <bool kWeight>
  static Vector dot(Vector sums, Vector weight, Vector x) {
    return dot_of_bytes<kWeight>(sums, vreinterpretq_u8_s32(weight), vreinterpretq_u8_s32(x));
  }
};
inline constexpr bool kHasQuads = true;
#else
inline constexpr bool kHasQuads = false;
#endif

}  // namespace
}  // namespace tern::simd
