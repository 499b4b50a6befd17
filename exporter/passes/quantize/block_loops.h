// The innermost loops over a block of numbers.
#pragma once

#include <tern/dtype.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "dtypes/float_codec.h"
#include "exporter/passes/quantize/levels.h"
#include "exporter/passes/quantize/row.h"
#include "exporter/passes/quantize/sums.h"

namespace tern::quantize {

inline constexpr std::uint32_t kMagnitude = 0x7fffffffu;

TERN_INLINE float value_of(std::uint32_t bits) {
  return std::bit_cast<float>(bits);
}
TERN_INLINE float magnitude_of(std::uint32_t bits) {
  return std::bit_cast<float>(bits & kMagnitude);
}

/// Numbers of a row that are encoded together, a multiple of the blocks of floats.
inline constexpr std::int64_t kChunk = 1024;
inline constexpr std::int64_t kPrefetchSlices = 4;

/// Asks for a part, of kParts, of what lies in the next row as numbers [begin, begin + n) do in this one. Memory then
/// delivers it meanwhile; asked for at once, the lines of a chunk would hold up this one's.
TERN_INLINE void prefetch_next_row(const WeightRow& row, std::int64_t begin, std::int64_t n, std::int64_t slice_index) {
  if (row.next.empty()) return;
  const std::int64_t size = static_cast<std::int64_t>(row.next.size()) / row.columns;
  const std::byte* const slice = row.next.data() + (begin + n * slice_index / kPrefetchSlices) * size;
  for (std::int64_t i = 0; i < n / kPrefetchSlices * size; i += 64) __builtin_prefetch(slice + i, 0, 2);
}

/// The largest magnitude as bits of a float32: NaN is larger than every number.
TERN_INLINE std::uint32_t largest_bits(const std::uint32_t* x, std::int64_t n) {
  std::uint32_t largest = 0;
  for (std::int64_t i = 0; i < n; ++i) largest = std::max(largest, x[i] & kMagnitude);
  return largest;
}

/// Computes the larger of each pair of neighbours.
template <class T>
TERN_INLINE void larger_of_pairs(const T* __restrict x, std::int64_t pairs, T* __restrict destination) {
  for (std::int64_t i = 0; i < pairs; ++i) destination[i] = std::max(x[2 * i], x[2 * i + 1]);
}

/// The largest magnitudes, as bits of float32, of all blocks of at most kMost numbers: pairs of neighbours, then pairs
/// of these, and so on, are faster than the largest of one register after the other.
template <std::int64_t kBlock, std::int64_t kMost>
TERN_INLINE void largest_of_blocks(const std::uint32_t* __restrict x, std::int64_t n,
                                   std::uint32_t* __restrict destination) {
  static_assert(kBlock == 16 || kBlock == 32);
  std::uint32_t first[kMost / 2], second[kMost / 4];
  for (std::int64_t i = 0; i < n / 2; ++i) {
    first[i] = std::max(x[2 * i] & kMagnitude, x[2 * i + 1] & kMagnitude);
  }
  larger_of_pairs(first, n / 4, second);
  larger_of_pairs(second, n / 8, first);
  larger_of_pairs(first, n / 16, second);
  if constexpr (kBlock == 32) larger_of_pairs(second, n / 32, first);
  const std::uint32_t* const largest = kBlock == 32 ? first : second;
  for (std::int64_t b = 0; b < n / kBlock; ++b) destination[b] = largest[b];
}

/// True if quotient() may divide by the number.
TERN_INLINE bool is_near(float s) {
  return s > 0x1p-60F && s < 0x1p60F;
}

/// x / s by the rounded reciprocal of s and a correction (Markstein 1990): dividing takes a third of the time of a
/// loop. Of float8's elements it gives the same as the quotient: tried for all s and the x around each product of s
/// with a middle between two elements, where the last bit decides. Where s is 6, it has the quotient's bits (tried for
/// all x). Far below the smallest element, the correction may underflow.
TERN_INLINE float quotient(float x, float s, float reciprocal) {
  const float q = x * reciprocal;
  return __builtin_fmaf(__builtin_fmaf(-q, s, x), reciprocal, q);
}

/// NaN becomes the largest.
TERN_INLINE float clamp_magnitude(float v, float upper) {
  return v < upper ? v : upper;
}

/// The format's largest finite number.
template <class F>
inline constexpr float kLargest = float_codec::decode<F>(static_cast<typename F::Bits>(Codes<F>::largest));

inline constexpr float kInfinity = std::bit_cast<float>(float_codec::kInfinity32);

// Blocks are scaled and rounded one by one to codes of 16 bits, and those of many blocks are packed at once: short
// loops over bytes use half of the processor's lanes.

/// Marks a loop over blocks: lanes hold numbers of one block. Otherwise GCC gives each lane a block, and transposes. An
/// inner loop must not be unrolled before it becomes vectors.
TERN_INLINE void one_block_at_a_time() {
  __asm__ volatile("");
}

/// The code of a magnitude of at most the format's largest, rounded to nearest, ties to even; it becomes the number of
/// the code. As float_codec's, in fewer instructions: adding 2^23 steps leaves the number of steps in the last bits.
template <class F>
TERN_INLINE std::uint32_t round_magnitude(float& v) {
  constexpr int kShift = 23 - F::mantissa;
  constexpr std::uint32_t kSubnormalExponent = static_cast<std::uint32_t>(128 - F::bias)
                                               << 23;  // exponent of subnormal numbers
  const std::uint32_t exponent = std::max(std::bit_cast<std::uint32_t>(v) & 0x7f800000u, kSubnormalExponent);
  const std::uint32_t rounding_bits = exponent + (static_cast<std::uint32_t>(kShift) << 23);
  const float sum = v + std::bit_cast<float>(rounding_bits);
  v = sum - std::bit_cast<float>(rounding_bits);
  return (std::bit_cast<std::uint32_t>(sum) - rounding_bits) + ((exponent - kSubnormalExponent) >> kShift);
}

/// The sign of a number as that of a code.
template <class F>
TERN_INLINE std::uint16_t sign_of(std::uint32_t x) {
  constexpr int kSign = F::exponent + F::mantissa;
  const auto high = static_cast<std::uint16_t>(x >> 16);
  return static_cast<std::uint16_t>(high >> (15 - kSign) & (1u << kSign));
}

/// A constant that the compiler does not know: it would compute the rest of a loop for it apart, with masks.
TERN_INLINE float unknown(float constant) {
  __asm__("" : "+m"(constant));
  return constant;
}

/// Codes of up to Sums::kLanes numbers. scaled(m, i): the magnitude m, number i's, in the unit of scale(i).
template <bool kFused, class F, class Scaled, class Scale>
TERN_INLINE void encode_numbers(const std::uint32_t* __restrict x, std::int64_t n, float upper, const Scaled& scaled,
                                const Scale& scale, std::uint16_t* __restrict codes, Sums& sums) {
#pragma GCC unroll 1
  for (std::int64_t i = 0; i < n; ++i) {
    const float m = magnitude_of(x[i]);
    float v = clamp_magnitude(scaled(m, i), upper);
    codes[i] = static_cast<std::uint16_t>(round_magnitude<F>(v) | sign_of<F>(x[i]));
    sums.add<kFused>(i, m, v * scale(i));
  }
}

/// Encodes blocks of Sums::kLanes numbers. `by`: factor of each block.
template <bool kFused, class F>
TERN_INLINE void encode_blocks(const std::uint32_t* __restrict x, std::int64_t blocks, const float* __restrict factor,
                               const float* __restrict scale, std::uint16_t* __restrict codes, Sums& sums) {
  const float upper = unknown(kLargest<F>);
  for (std::int64_t b = 0; b < blocks; ++b, x += Sums::kLanes, codes += Sums::kLanes) {
    one_block_at_a_time();
    encode_numbers<kFused, F>(
        x, Sums::kLanes, upper, [f = factor[b]](float m, std::int64_t) __attribute__((always_inline)) { return m * f; },
        [s = scale[b]](std::int64_t) __attribute__((always_inline)) { return s; }, codes, sums);
  }
}

/// Encodes n numbers in shorter blocks, with `by` and `scale` for each number.
template <bool kFused, class F>
TERN_INLINE void encode_scaled(const std::uint32_t* __restrict x, std::int64_t n, const float* __restrict factor,
                               const float* __restrict scale, std::uint16_t* __restrict codes, Sums& sums) {
  const float upper = unknown(kLargest<F>);
  visit_lane_chunks(
      n, [&](std::int64_t begin, std::int64_t count) __attribute__((always_inline)) {
        encode_numbers<kFused, F>(
            x + begin, count,
            upper, [f = factor + begin](float m, std::int64_t i) __attribute__((always_inline)) { return m * f[i]; },
            [s = scale + begin](std::int64_t i) __attribute__((always_inline)) { return s[i]; }, codes + begin, sums);
      });
}

/// Each block's number for all of its numbers.
template <std::int64_t kBlock>
TERN_INLINE void spread(const float* __restrict of_blocks, std::int64_t blocks, float* __restrict destination) {
  for (std::int64_t b = 0; b < blocks; ++b, destination += kBlock) {
    one_block_at_a_time();
#pragma GCC unroll 1
    for (std::int64_t i = 0; i < kBlock; ++i) destination[i] = of_blocks[b];
  }
}

/// The code that torchao gives a NaN: in a format that has none, the arithmetic of its rounding, applied to the bits.
template <class F>
std::uint16_t code_of_nan(float v) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(v), a = bits & kMagnitude;
  const std::uint32_t sign = bits >> 31 << (F::exponent + F::mantissa);
  if constexpr (F::special == Special::finite) {
    constexpr int shift = 23 - F::mantissa;
    const std::uint32_t odd = (a >> shift) & 1;
    const std::uint32_t rebiased =
        a - (static_cast<std::uint32_t>(127 - F::bias) << 23) + ((1u << (shift - 1)) - 1) + odd;
    return static_cast<std::uint16_t>((rebiased >> shift & 0xff) | sign);
  } else {
    return static_cast<std::uint16_t>(Codes<F>::magnitude | sign);
  }
}

/// Codes of those numbers which become NaN: scaled(x).
template <class F, class Scaled>
void encode_nans(const std::uint32_t* x, std::int64_t n, const Scaled& scaled, std::uint16_t* codes) {
  for (std::int64_t i = 0; i < n; ++i) {
    const float v = scaled(value_of(x[i]));
    if (v != v) codes[i] = code_of_nan<F>(v);
  }
}

TERN_INLINE void pack_bytes(const std::uint16_t* __restrict codes, std::int64_t n,
                            std::uint8_t* __restrict destination) {
  for (std::int64_t i = 0; i < n; ++i) destination[i] = static_cast<std::uint8_t>(codes[i]);
}

/// Pairs of codes of four bits, the first in the low ones.
TERN_INLINE void pack_nibbles(const std::uint16_t* __restrict codes, std::int64_t n,
                              std::uint8_t* __restrict destination) {
  for (std::int64_t i = 0; i < n / 2; ++i) {
    std::uint32_t pair = 0;
    std::memcpy(&pair, codes + 2 * i, sizeof pair);
    destination[i] = static_cast<std::uint8_t>((pair & 0xf) | (pair >> 12 & 0xf0));
  }
}

/// The number in a type of 16 bits, or as it is.
TERN_INLINE float rounded_to(DType t, float v) {
  if (t == DType::bf16) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(v), odd = bits >> 16 & 1;
    const float rounded = std::bit_cast<float>((bits + 0x7fff + odd) & 0xffff0000u);
    return v == v ? rounded : v;
  }
  if (t == DType::f16) return float_codec::decode<Binary16>(float_codec::encode<Binary16>(v, Overflow::saturate));
  return v;
}

}  // namespace tern::quantize
