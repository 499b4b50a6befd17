#include <immintrin.h>

#include <algorithm>

#include "kernels/cpu/products/block_quantized/nibble_microkernel.h"

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
      const __mmask16 small = _mm512_cmplt_epu32_mask(exponent, _mm512_set1_epi32(kLeastExponent << 23));
      if (_mm512_cmpeq_epi32_mask(exponent, exponents) != 0 ||
          _mm512_mask_cmp_ps_mask(small, v, _mm512_setzero_ps(), _CMP_NEQ_UQ) != 0)
        return false;
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

// Scales of one step: a few of them, each repeated for the lanes of its block. kBlock 128 is any larger one.

template <int kBlock>
struct Float32Scales {
  static constexpr int kColumnsOfOne = kBlock;
  static constexpr std::ptrdiff_t kSize = sizeof(float);
  static __m512 of_step(const std::byte* at) {
    const auto* const scales = reinterpret_cast<const float*>(at);
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
};

/// A quarter of a register is a block: its scale of `size` bytes goes to the highest bytes of each lane of 32 bits, and
/// the other bytes are zero.
struct Places {
  std::uint8_t from[64];
  constexpr explicit Places(int size) : from() {
    for (int i = 0; i < 64; ++i) {
      const int byte = i % 4 - (4 - size);
      from[i] = static_cast<std::uint8_t>(byte < 0 ? 0x80 : i / 16 * size + byte);
    }
  }
};

struct Bfloat16Scales {
  static constexpr int kColumnsOfOne = 32;
  static constexpr std::ptrdiff_t kSize = 2;
  static constexpr Places kPlacesOf{2};
  static __m512 of_step(const std::byte* at) {
    long long four = 0;
    __builtin_memcpy(&four, at, sizeof four);
    return _mm512_castsi512_ps(_mm512_shuffle_epi8(_mm512_set1_epi64(four), _mm512_loadu_si512(kPlacesOf.from)));
  }
};

/// Normal numbers alone.
struct E8M0Scales {
  static constexpr int kColumnsOfOne = 32;
  static constexpr std::ptrdiff_t kSize = 1;
  static constexpr Places kPlacesOf{1};
  static __m512 of_step(const std::byte* at) {
    int four = 0;
    __builtin_memcpy(&four, at, sizeof four);
    const __m512i highest = _mm512_shuffle_epi8(_mm512_set1_epi32(four), _mm512_loadu_si512(kPlacesOf.from));
    return _mm512_castsi512_ps(_mm512_srli_epi32(highest, 1));
  }
};

struct Totals {
  __m512 of[kMostRows];
};

/// One step of all rows, by kX rows of x, `n.x_row` steps apart. `codes(j)` are those of row j, `scales[j]` where its
/// scales of the step begin.
template <class Scales, int kX, class C>
[[gnu::always_inline]] inline void add_step(const NibbleRows& n, std::ptrdiff_t step, __m512i table, C codes,
                                            const std::byte* const (&scales)[kMostRows], std::ptrdiff_t at,
                                            Totals (&totals)[kX]) {
#pragma GCC unroll 4
  for (int j = 0; j < kMostRows; ++j) {
    const __m512i both = codes(j), low = _mm512_permutexvar_epi8(both, table),
                  high = _mm512_permutexvar_epi8(_mm512_srli_epi16(both, 4), table);
    const __m512 scale = Scales::of_step(scales[j] + at);
#pragma GCC unroll 4
    for (int i = 0; i < kX; ++i) {
      const NibbleStep& x = n.x[i * n.x_row + step];
      __m512i sum = _mm512_setzero_si512();
#pragma GCC unroll 3
      for (int d = 0; d < 3; ++d) {
        if (d > 0) sum = _mm512_slli_epi32(sum, 8);
        sum = _mm512_dpbusd_epi32(sum, low, _mm512_load_si512(x.digits[d][0]));
        sum = _mm512_dpbusd_epi32(sum, high, _mm512_load_si512(x.digits[d][1]));
      }
      const __m512 number =
          _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_add_epi32(sum, _mm512_load_si512(x.shift))), _mm512_load_ps(x.unit));
      totals[i].of[j] = _mm512_fmadd_ps(number, scale, totals[i].of[j]);
    }
  }
}

/// Four rows.
template <class Scales, int kX>
[[gnu::always_inline]] inline void dots_of_rows(const NibbleRows& n, __m512i table,
                                                const std::uint8_t* const (&elements)[kMostRows],
                                                const std::byte* const (&scales)[kMostRows], Totals (&totals)[kX]) {
  constexpr bool kSmall = Scales::kColumnsOfOne < kColumns;
  constexpr std::ptrdiff_t kScaleBytes = kSmall ? kColumns / Scales::kColumnsOfOne * Scales::kSize : Scales::kSize;
  const std::ptrdiff_t steps = n.columns / kColumns, ahead = n.ahead;
  for (Totals& all : totals) {
    for (__m512& t : all.of) t = _mm512_setzero_ps();
  }
  std::ptrdiff_t scale = 0;
  const auto step = [&](std::ptrdiff_t s) __attribute__((always_inline)) {
    add_step<Scales, kX>(
        n, s, table,
        [&](int j) __attribute__((always_inline)) {
          const std::uint8_t* const at = elements[j] + s * kBytes;
          __builtin_prefetch(at + ahead, 0, 3);
          return _mm512_loadu_si512(at);
        },
        scales, scale, totals);
  };
  if constexpr (kSmall) {
    for (std::ptrdiff_t s = 0; s < steps; ++s, scale += kScaleBytes) step(s);
  } else {
    const std::ptrdiff_t of_scale = std::max<std::ptrdiff_t>(1, n.block / kColumns);
    for (std::ptrdiff_t s = 0; s < steps; scale += kScaleBytes) {
      for (const std::ptrdiff_t end = std::min(steps, s + of_scale); s < end; ++s) step(s);
    }
  }
  if (const std::ptrdiff_t rest = n.columns - steps * kColumns; rest > 0) {
    const __mmask64 some = (std::uint64_t{1} << ((rest + 1) / 2)) - 1;
    // One block in a row goes on.
    const std::ptrdiff_t first = kSmall ? scale : 0,
                         count = kSmall ? rest / Scales::kColumnsOfOne * Scales::kSize : Scales::kSize;
    std::byte last[kMostRows][kColumns / 16 * sizeof(float)] = {};
    const std::byte* scales_of_last[kMostRows];
    for (int j = 0; j < kMostRows; ++j) {
      std::copy_n(scales[j] + first, count, last[j]);
      scales_of_last[j] = last[j];
    }
    add_step<Scales, kX>(
        n, steps, table,
        [&](int j)
            __attribute__((always_inline)) { return _mm512_maskz_loadu_epi8(some, elements[j] + steps * kBytes); },
        scales_of_last, 0, totals);
  }
}

/// Sums of the lanes of each.
__m128 sums_of(const Totals& t) {
  __m256 halves[kMostRows];
  for (int j = 0; j < kMostRows; ++j)
    halves[j] = _mm256_add_ps(_mm512_castps512_ps256(t.of[j]), _mm512_extractf32x8_ps(t.of[j], 1));
  const __m256 all = _mm256_hadd_ps(_mm256_hadd_ps(halves[0], halves[1]), _mm256_hadd_ps(halves[2], halves[3]));
  return _mm_add_ps(_mm256_castps256_ps128(all), _mm256_extractf128_ps(all, 1));
}

template <class Scales, int kX = 1>
void dots(const NibbleRows& n, float* sums) {
  // Indexes have six bits, of which two belong to a neighbour: four times the same table.
  const __m512i table = _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(n.type->whole)));
  for (std::ptrdiff_t r = 0; r < n.count; r += 2) {
    const std::uint8_t* elements[kMostRows];
    const std::byte* scales[kMostRows];
    for (int j = 0; j < kMostRows; ++j) {
      const std::ptrdiff_t begin = j < 2 ? n.first : n.second, row = std::min(begin + r + j % 2, n.last);
      elements[j] = n.elements + row * n.row_bytes;
      scales[j] = n.scales[j / 2] + (row - begin) * n.scale_bytes;
    }
    Totals totals[kX];
    dots_of_rows<Scales, kX>(n, table, elements, scales, totals);
    for (int i = 0; i < kX; ++i) {
      const __m128 four = sums_of(totals[i]);
      float* const to = sums + 2 * i * n.count;
      _mm_storel_pi(reinterpret_cast<__m64*>(to + r), four);
      _mm_storeh_pi(reinterpret_cast<__m64*>(to + n.count + r), four);
    }
  }
}

void dots_of_scales(const NibbleRows& n, float* sums) {
  if (n.x_rows == NibbleRows::kTogether) {
    if (n.scale == DType::bf16) return dots<Bfloat16Scales, NibbleRows::kTogether>(n, sums);
    return dots<Float32Scales<32>, NibbleRows::kTogether>(n, sums);
  }
  if (n.scale == DType::bf16) return dots<Bfloat16Scales>(n, sums);
  if (n.scale == DType::f8_e8m0) return dots<E8M0Scales>(n, sums);
  switch (n.block) {
    case 16: return dots<Float32Scales<16>>(n, sums);
    case 32: return dots<Float32Scales<32>>(n, sums);
    case 64: return dots<Float32Scales<64>>(n, sums);
    default: return dots<Float32Scales<kColumns>>(n, sums);
  }
}

bool normal(const std::byte* scales, std::ptrdiff_t count) {
  __mmask64 others = 0;
  for (std::ptrdiff_t i = 0; i < count; i += 64) {
    const __mmask64 some = count - i < 64 ? (std::uint64_t{1} << (count - i)) - 1 : ~std::uint64_t{0};
    // 0 and 255 are the bytes to which adding one gives at most one.
    const __m512i next = _mm512_add_epi8(_mm512_maskz_loadu_epi8(some, scales + i), _mm512_set1_epi8(1));
    others |= _mm512_mask_cmple_epu8_mask(some, next, _mm512_set1_epi8(1));
  }
  return others == 0;
}

}  // namespace

void set_avx512vbmi(NibbleLoops* loops) {
  *loops = {arrange, dots_of_scales, normal};
}

}  // namespace tern::quantized
