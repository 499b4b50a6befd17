#include <immintrin.h>

#include <algorithm>

#include "kernels/cpu/quantized/nibbles.h"

namespace tern::quantized {
namespace {

constexpr std::ptrdiff_t kColumns = NibbleStep::kColumns, kBytes = NibbleStep::kBytes;
constexpr int kPlaces = 21;         // x below 2^(e + 1) becomes a whole number below 2^22
constexpr int kLeastExponent = 22;  // biased: what the unit of x needs to be a normal number

/// The largest of each eight lanes, in all of them.
__m512i largest_of_eight(__m512i v) {
  v = _mm512_max_epu32(v, _mm512_shuffle_i32x4(v, v, 0xb1));
  v = _mm512_max_epu32(v, _mm512_shuffle_epi32(v, _MM_PERM_BADC));
  return _mm512_max_epu32(v, _mm512_shuffle_epi32(v, _MM_PERM_CDAB));
}

__m512i sum_of_eight(__m512i v) {
  v = _mm512_add_epi32(v, _mm512_shuffle_i32x4(v, v, 0xb1));
  v = _mm512_add_epi32(v, _mm512_shuffle_epi32(v, _MM_PERM_BADC));
  return _mm512_add_epi32(v, _mm512_shuffle_epi32(v, _MM_PERM_CDAB));
}

/// Byte 16 d + 8 o + i of a register comes from digit 2 - d of number 2 i + o.
struct Digits {
  std::uint8_t from[64];
  constexpr Digits() : from() {
    for (int d = 0; d < 3; ++d) {
      for (int o = 0; o < 2; ++o) {
        for (int i = 0; i < 8; ++i) from[16 * d + 8 * o + i] = static_cast<std::uint8_t>(4 * (2 * i + o) + 2 - d);
      }
    }
  }
};
constexpr Digits kDigits;

bool arrange(const float* x, std::ptrdiff_t columns, const NibbleType& type, NibbleStep* to) {
  const __m512i exponents = _mm512_set1_epi32(0x7f800000), digits = _mm512_loadu_si512(kDigits.from);
  for (std::ptrdiff_t begin = 0; begin < columns; begin += kColumns, ++to) {
    for (std::ptrdiff_t part = 0; part < 8; ++part) {
      const std::ptrdiff_t at = begin + 16 * part, count = std::clamp<std::ptrdiff_t>(columns - at, 0, 16);
      const __m512 v = _mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << count) - 1), x + (count > 0 ? at : 0));
      __m512i exponent =
          _mm512_and_si512(largest_of_eight(_mm512_and_si512(_mm512_castps_si512(v), exponents)), exponents);
      if (_mm512_cmpeq_epi32_mask(exponent, exponents) != 0) return false;
      exponent = _mm512_max_epu32(exponent, _mm512_set1_epi32(kLeastExponent << 23));
      const __m512 by = _mm512_castsi512_ps(_mm512_sub_epi32(_mm512_set1_epi32((2 * 127 + kPlaces) << 23), exponent));
      const __m512i whole = _mm512_cvtps_epi32(_mm512_mul_ps(v, by)), places = _mm512_set1_epi32(0x808080);
      // Adding 128 to each digit leaves none below zero; flipping its highest bit subtracts 128 again.
      const __m512i all = _mm512_permutexvar_epi8(digits, _mm512_xor_si512(_mm512_add_epi32(whole, places), places));
      alignas(64) std::int8_t bytes[64];
      _mm512_store_si512(bytes, all);
      for (std::ptrdiff_t d = 0; d < 3; ++d) {
        for (std::ptrdiff_t o = 0; o < 2; ++o) __builtin_memcpy(to->digits[d][o] + 8 * part, bytes + 16 * d + 8 * o, 8);
      }
      alignas(64) std::int32_t sums[16];
      alignas(64) float units[16];
      _mm512_store_si512(sums, sum_of_eight(whole));
      _mm512_store_ps(units, _mm512_castsi512_ps(_mm512_sub_epi32(exponent, _mm512_set1_epi32(kPlaces << 23))));
      for (std::ptrdiff_t half = 0; half < 2; ++half) {
        to->shift[2 * part + half] = -type.above * sums[8 * half];
        to->unit[2 * part + half] = type.unit * units[8 * half];
      }
    }
  }
  return true;
}

/// Scales of a step by the block: a few of them, each repeated for the lanes of its block.
template <int kBlock>
__m512 scales_of_step(const float* scales) {
  if constexpr (kBlock == 16) {
    const __m512i lanes = _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
    return _mm512_permutexvar_ps(lanes, _mm512_castps256_ps512(_mm256_loadu_ps(scales)));
  } else if constexpr (kBlock == 32) {
    const __m512i lanes = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
    return _mm512_permutevar_ps(_mm512_broadcast_f32x4(_mm_loadu_ps(scales)), lanes);
  } else if constexpr (kBlock == 64) {
    return _mm512_mask_blend_ps(0xff00, _mm512_set1_ps(scales[0]), _mm512_set1_ps(scales[1]));
  } else {
    return _mm512_set1_ps(*scales);
  }
}

struct Totals {
  __m512 of[kMostRows];
};

/// One step of all rows. `codes(j)` are those of row j, `scales(j)` where its scales of the step begin.
template <int kBlock, class C, class S>
[[gnu::always_inline]] inline void add_step(const NibbleStep& x, __m512i table, C codes, S scales, Totals& totals) {
  const __m512i shift = _mm512_load_si512(x.shift);
  const __m512 unit = _mm512_load_ps(x.unit);
#pragma GCC unroll 4
  for (int j = 0; j < kMostRows; ++j) {
    const __m512i both = codes(j), low = _mm512_permutexvar_epi8(both, table),
                  high = _mm512_permutexvar_epi8(_mm512_srli_epi16(both, 4), table);
    __m512i sum = _mm512_setzero_si512();
#pragma GCC unroll 3
    for (int d = 0; d < 3; ++d) {
      if (d > 0) sum = _mm512_slli_epi32(sum, 8);
      sum = _mm512_dpbusd_epi32(sum, low, _mm512_load_si512(x.digits[d][0]));
      sum = _mm512_dpbusd_epi32(sum, high, _mm512_load_si512(x.digits[d][1]));
    }
    const __m512 number = _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_add_epi32(sum, shift)), unit);
    totals.of[j] = _mm512_fmadd_ps(number, scales_of_step<kBlock>(scales(j)), totals.of[j]);
  }
}

template <int kBlock>
void dots(const NibbleDots& n, float* sums) {
  const Dots& d = n.rows;
  // Indexes have six bits, of which two belong to a neighbour: four times the same table.
  const __m512i table = _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(n.type->whole)));
  constexpr std::ptrdiff_t kScales = kBlock < kColumns ? kColumns / kBlock : 1;
  const std::ptrdiff_t steps = d.columns / kColumns,
                       of_scale = kBlock < kColumns ? 1 : std::max<std::ptrdiff_t>(1, d.block / kColumns);
  Totals totals;
  for (__m512& t : totals.of) t = _mm512_setzero_ps();
  std::ptrdiff_t scale = 0;
  for (std::ptrdiff_t s = 0; s < steps; scale += kScales) {
    for (const std::ptrdiff_t end = std::min(steps, s + of_scale); s < end; ++s) {
      add_step<kBlock>(
          n.x[s], table,
          [&](int j) __attribute__((always_inline)) {
            const std::uint8_t* const at = d.elements[j] + s * kBytes;
            __builtin_prefetch(at + d.ahead, 0, 2);
            return _mm512_loadu_si512(at);
          },
          [&](int j) __attribute__((always_inline)) { return d.scales[j] + scale; }, totals);
    }
  }
  if (const std::ptrdiff_t rest = d.columns - steps * kColumns; rest > 0) {
    const __mmask64 some = (std::uint64_t{1} << ((rest + 1) / 2)) - 1;
    // One block in a row goes on.
    const std::ptrdiff_t first = kBlock < kColumns ? scale : 0, count = kBlock < kColumns ? rest / kBlock : 1;
    float last[kMostRows][16] = {};
    for (int j = 0; j < kMostRows; ++j) std::copy_n(d.scales[j] + first, count, last[j]);
    add_step<kBlock>(
        n.x[steps], table,
        [&](int j)
            __attribute__((always_inline)) { return _mm512_maskz_loadu_epi8(some, d.elements[j] + steps * kBytes); },
        [&](int j) __attribute__((always_inline)) { return last[j]; }, totals);
  }
  for (int j = 0; j < kMostRows; ++j) sums[j] = _mm512_reduce_add_ps(totals.of[j]);
}

void dots_of(const NibbleDots& n, float* sums) {
  switch (n.rows.block) {
    case 16: return dots<16>(n, sums);
    case 32: return dots<32>(n, sums);
    case 64: return dots<64>(n, sums);
    default: return dots<NibbleStep::kColumns>(n, sums);
  }
}

}  // namespace

void set_avx512vbmi(NibbleLoops* loops) {
  *loops = {arrange, dots_of};
}

}  // namespace tern::quantized
