#include <immintrin.h>

#include <algorithm>

#include "kernels/cpu/products/block_quantized/byte_microkernel.h"
#include "kernels/cpu/products/block_quantized/microkernel.h"

namespace tern::quantized {
namespace {

constexpr std::ptrdiff_t kStep = ByteSteps::kStep, kSteps = ByteSteps::kSteps, kColumns = ByteSteps::kColumns;
constexpr int kPlaces = 21;         // x below 2^(e + 1) becomes a whole number below 2^22
constexpr int kLeastExponent = 27;  // biased: what the unit of x needs to be a normal number

/// Up to 64 neighbours, with zeros after them: register i has lanes [4 i, 4 i + 4), each the numbers of one lane of
/// sums.
struct Numbers {
  __m512 of[4];
  Numbers(const float* x, std::ptrdiff_t count) {
    for (int i = 0; i < 4; ++i) {
      const std::ptrdiff_t some = std::clamp<std::ptrdiff_t>(count - 16 * i, 0, 16);
      of[i] = _mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << some) - 1), some > 0 ? x + 16 * i : x);
    }
  }
};

/// The largest of each four lanes, in all of them.
__m512i largest_of_four(__m512i v) {
  v = _mm512_max_epu32(v, _mm512_shuffle_epi32(v, _MM_PERM_BADC));
  return _mm512_max_epu32(v, _mm512_shuffle_epi32(v, _MM_PERM_CDAB));
}

/// The sums of four neighbours, of 64 bytes.
__m512i sums_of_four(const std::int8_t* bytes) {
  return _mm512_dpbusd_epi32(_mm512_setzero_si512(), _mm512_set1_epi8(1), _mm512_load_si512(bytes));
}

bool arrange(const float* x, std::ptrdiff_t columns, bool with_sign, ByteSteps* to) {
  const __m512i exponents = _mm512_set1_epi32(0x7f800000), places = _mm512_set1_epi32(0x808080);
  for (std::ptrdiff_t begin = 0; begin < columns; begin += kColumns, ++to) {
    const auto part = [&](std::ptrdiff_t s) {
      const std::ptrdiff_t at = std::min(columns, begin + s * kStep);
      return Numbers(x + at, columns - at);
    };
    __m512i exponent[4] = {}, any[4] = {};
    for (std::ptrdiff_t s = 0; s < kSteps; ++s) {
      const Numbers numbers = part(s);
      for (int i = 0; i < 4; ++i) {
        const __m512i bits = _mm512_castps_si512(numbers.of[i]);
        any[i] = _mm512_or_si512(any[i], _mm512_slli_epi32(bits, 1));
        exponent[i] = _mm512_max_epu32(exponent[i], _mm512_and_si512(bits, exponents));
      }
    }
    for (int i = 0; i < 4; ++i) {
      exponent[i] = largest_of_four(exponent[i]);
      const __m512i least = _mm512_set1_epi32(kLeastExponent << 23);
      const __mmask16 small = _mm512_cmplt_epu32_mask(exponent[i], least);
      if (_mm512_cmpeq_epi32_mask(exponent[i], exponents) != 0 ||
          _mm512_mask_test_epi32_mask(small, any[i], any[i]) != 0)
        return false;
      exponent[i] = _mm512_max_epu32(exponent[i], least);
      const __m512i unit = _mm512_sub_epi32(exponent[i], _mm512_set1_epi32(kPlaces << 23));
      const __m512i firsts = _mm512_setr_epi32(0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12);
      _mm_store_ps(to->unit + 4 * i, _mm_castsi128_ps(_mm512_castsi512_si128(_mm512_permutexvar_epi32(firsts, unit))));
    }
    __m512i sums[3] = {};
    for (std::ptrdiff_t s = 0; s < kSteps; ++s) {
      const Numbers numbers = part(s);
      for (int i = 0; i < 4; ++i) {
        const __m512 by =
            _mm512_castsi512_ps(_mm512_sub_epi32(_mm512_set1_epi32((2 * 127 + kPlaces) << 23), exponent[i]));
        const __m512i whole = _mm512_cvtps_epi32(_mm512_mul_ps(numbers.of[i], by));
        // Adding 128 to each digit leaves none below zero; flipping its highest bit subtracts 128 again.
        const __m512i all = _mm512_xor_si512(_mm512_add_epi32(whole, places), places);
        for (int d = 0; d < 3; ++d) {
          _mm_store_si128(reinterpret_cast<__m128i*>(to->digits[s][d] + 16 * i),
                          _mm512_cvtepi32_epi8(_mm512_srli_epi32(all, static_cast<unsigned>(8 * (2 - d)))));
        }
      }
      for (int d = 0; d < 3; ++d) sums[d] = _mm512_add_epi32(sums[d], sums_of_four(to->digits[s][d]));
    }
    for (int d = 0; d < 3; ++d)
      _mm512_store_si512(to->shift[d],
                         with_sign ? _mm512_mullo_epi32(sums[d], _mm512_set1_epi32(-128)) : _mm512_setzero_si512());
  }
  return true;
}

struct Sums {
  __m512i of[kMostRows][3];
};

template <class C>
[[gnu::always_inline]] inline void add_step(const ByteSteps& x, std::ptrdiff_t s, C elements, Sums& sums) {
#pragma GCC unroll 4
  for (int j = 0; j < kMostRows; ++j) {
    const __m512i w = elements(j);
#pragma GCC unroll 3
    for (int d = 0; d < 3; ++d)
      sums.of[j][d] = _mm512_dpbusd_epi32(sums.of[j][d], w, _mm512_load_si512(x.digits[s][d]));
  }
}

/// Four rows.
template <bool kSign>
[[gnu::always_inline]] inline void dots_of_rows(const ByteRows& n, const std::uint8_t* const (&elements)[kMostRows],
                                                __m512 (&totals)[kMostRows]) {
  const __m512i flip = _mm512_set1_epi8(static_cast<char>(kSign ? 0x80 : 0));
  for (__m512& t : totals) t = _mm512_setzero_ps();
  const ByteSteps* x = n.x;
  for (std::ptrdiff_t begin = 0; begin < n.columns; begin += kColumns, ++x) {
    Sums sums;
#pragma GCC unroll 4
    for (auto& row : sums.of) {
#pragma GCC unroll 3
      for (int d = 0; d < 3; ++d) row[d] = _mm512_load_si512(x->shift[d]);
    }
    const auto step = [&](std::ptrdiff_t s) __attribute__((always_inline)) {
      add_step(
          *x, s,
          [&](int j) __attribute__((always_inline)) {
            const std::uint8_t* const at = elements[j] + begin + s * kStep;
            __builtin_prefetch(at + n.ahead, 0, 3);
            return _mm512_xor_si512(_mm512_loadu_si512(at), flip);
          },
          sums);
    };
    const std::ptrdiff_t left = n.columns - begin;
    if (left >= kColumns) {
#pragma GCC unroll 4
      for (std::ptrdiff_t s = 0; s < kSteps; ++s) step(s);
    } else {
      std::ptrdiff_t s = 0;
      for (; s < left / kStep; ++s) step(s);
      if (const std::ptrdiff_t rest = left - s * kStep; rest > 0) {
        // Elements that are missing meet zeros of x.
        const __mmask64 some = (std::uint64_t{1} << rest) - 1;
        add_step(
            *x, s,
            [&](int j) __attribute__((always_inline)) {
              return _mm512_xor_si512(_mm512_maskz_loadu_epi8(some, elements[j] + begin + s * kStep), flip);
            },
            sums);
      }
    }
    const __m512 unit = _mm512_load_ps(x->unit), base = _mm512_set1_ps(256);
#pragma GCC unroll 4
    for (int j = 0; j < kMostRows; ++j) {
      __m512 number = _mm512_cvtepi32_ps(sums.of[j][0]);
      number = _mm512_fmadd_ps(number, base, _mm512_cvtepi32_ps(sums.of[j][1]));
      number = _mm512_fmadd_ps(number, base, _mm512_cvtepi32_ps(sums.of[j][2]));
      totals[j] = _mm512_fmadd_ps(number, unit, totals[j]);
    }
  }
}

template <bool kSign>
void dots_of(const ByteRows& n, float* sums) {
  for (std::ptrdiff_t r = 0; r < n.count; r += 2) {
    const std::uint8_t* elements[kMostRows];
    for (int j = 0; j < kMostRows; ++j)
      elements[j] = n.elements + std::min((j < 2 ? n.first : n.second) + r + j % 2, n.last) * n.columns;
    __m512 totals[kMostRows];
    dots_of_rows<kSign>(n, elements, totals);
    for (int j = 0; j < kMostRows; ++j) sums[j / 2 * n.count + r + j % 2] = _mm512_reduce_add_ps(totals[j]);
  }
}

void dots(const ByteRows& n, float* sums) {
  n.with_sign ? dots_of<true>(n, sums) : dots_of<false>(n, sums);
}

}  // namespace

void set_avx512vnni(ByteLoops* loops) {
  *loops = {arrange, dots};
}

}  // namespace tern::quantized
