// The innermost loops over a block of numbers.
#pragma once

#include <tern/dtype.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "dtypes/float_codec.h"
#include "exporter/quantize/levels.h"
#include "exporter/quantize/row.h"

namespace tern::quantize {

constexpr std::uint32_t kMagnitude = 0x7fffffffu;

/// Numbers of a row that are encoded together, a multiple of the blocks of floats.
inline constexpr std::int64_t kChunk = 1024;
inline constexpr std::int64_t kParts = 4;

/// Asks for a part, of kParts, of what lies in the next row as numbers [begin, begin + n) do in this one. Memory then
/// delivers it meanwhile; asked for at once, the lines of a chunk would hold up this one's.
TERN_INLINE void ask_for_next(const Row& row, std::int64_t begin, std::int64_t n, std::int64_t part) {
  if (row.next.empty()) return;
  const std::int64_t size = static_cast<std::int64_t>(row.next.size()) / row.columns;
  const std::byte* const from = row.next.data() + (begin + n * part / kParts) * size;
  for (std::int64_t i = 0; i < n / kParts * size; i += 64) __builtin_prefetch(from + i, 0, 2);
}

/// The largest magnitude as bits: NaN is larger than every number.
TERN_INLINE std::uint32_t largest_bits(const float* x, std::int64_t n) {
  std::uint32_t largest = 0;
  for (std::int64_t i = 0; i < n; ++i) largest = std::max(largest, std::bit_cast<std::uint32_t>(x[i]) & kMagnitude);
  return largest;
}

/// Of neighbours in pairs.
TERN_INLINE void larger_of_pairs(const std::uint32_t* __restrict x, std::int64_t pairs, std::uint32_t* __restrict to) {
  for (std::int64_t i = 0; i < pairs; ++i) to[i] = std::max(x[2 * i], x[2 * i + 1]);
}

/// The largest magnitudes, as bits, of all blocks of at most kMost numbers: pairs of neighbours, then pairs of these,
/// and so on, are faster than the largest of one register after the other.
template <std::int64_t kBlock, std::int64_t kMost>
TERN_INLINE void largest_of_blocks(const float* __restrict x, std::int64_t n, std::uint32_t* __restrict to) {
  static_assert(kBlock == 16 || kBlock == 32);
  std::uint32_t first[kMost / 2], second[kMost / 4];
  for (std::int64_t i = 0; i < n / 2; ++i) {
    first[i] = std::max(std::bit_cast<std::uint32_t>(x[2 * i]) & kMagnitude,
                        std::bit_cast<std::uint32_t>(x[2 * i + 1]) & kMagnitude);
  }
  larger_of_pairs(first, n / 4, second);
  larger_of_pairs(second, n / 8, first);
  if constexpr (kBlock == 16) {
    larger_of_pairs(first, n / 16, to);
  } else {
    larger_of_pairs(first, n / 16, second);
    larger_of_pairs(second, n / 32, to);
  }
}

/// NaN stays. In the order of the processor's minimum and maximum.
TERN_INLINE float clamped(float v, float most) {
  const float low = most < v ? most : v;
  return -most > low ? -most : low;
}

/// The format's largest finite number.
template <class F>
inline constexpr float kLargest = float_codec::decode<F>(static_cast<typename F::Bits>(Codes<F>::largest));

TERN_INLINE void multiply(float* x, std::int64_t n, float by) {
  for (std::int64_t i = 0; i < n; ++i) x[i] *= by;
}

// Blocks are scaled one by one, and the numbers of many blocks encoded at once: short loops over bytes use half of the
// processor's lanes. `by`: for each block.

/// In a loop over blocks: lanes hold numbers of one block. Otherwise GCC gives each lane a block, and transposes. A
/// loop within must not be unrolled before it becomes vectors.
TERN_INLINE void one_block_at_a_time() {
  __asm__ volatile("");
}

template <class F, std::int64_t kBlock>
TERN_INLINE void multiply_clamped(const float* __restrict x, std::int64_t blocks, const float* __restrict by,
                                  float* __restrict to) {
  for (std::int64_t b = 0; b < blocks; ++b, x += kBlock, to += kBlock) {
    one_block_at_a_time();
#pragma GCC unroll 1
    for (std::int64_t i = 0; i < kBlock; ++i) to[i] = clamped(x[i] * by[b], kLargest<F>);
  }
}

template <std::int64_t kBlock>
TERN_INLINE void multiply(float* __restrict x, std::int64_t blocks, const float* __restrict by) {
  for (std::int64_t b = 0; b < blocks; ++b, x += kBlock) {
    one_block_at_a_time();
#pragma GCC unroll 1
    for (std::int64_t i = 0; i < kBlock; ++i) x[i] *= by[b];
  }
}

/// The code of a number whose magnitude is at most the format's largest, rounded to nearest, ties to even; the number
/// becomes that of the code. As float_codec's, in fewer instructions: adding 2^23 steps leaves the number of steps in
/// the last bits. NaN stays, and its code is that of no number.
template <class F>
TERN_INLINE std::uint32_t round_number(float& v) {
  constexpr int kShift = 23 - F::mantissa, kSign = F::exponent + F::mantissa;
  constexpr std::uint32_t kLeast = static_cast<std::uint32_t>(128 - F::bias) << 23;  // exponent of subnormal numbers
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(v), a = bits & kMagnitude, sign = bits ^ a;
  const std::uint32_t exponent = std::max(a & 0x7f800000u, kLeast);
  const std::uint32_t ones = exponent + (static_cast<std::uint32_t>(kShift) << 23);
  const float sum = std::bit_cast<float>(a) + std::bit_cast<float>(ones);
  v = std::bit_cast<float>(std::bit_cast<std::uint32_t>(sum - std::bit_cast<float>(ones)) | sign);
  std::uint32_t code = (std::bit_cast<std::uint32_t>(sum) - ones) + ((exponent - kLeast) >> kShift);
  if constexpr (F::special != Special::finite) code = a > float_codec::kInfinity32 ? Codes<F>::magnitude : code;
  return code | sign >> (31 - kSign);
}

/// Codes of numbers; the numbers become those of the codes.
template <class F>
TERN_INLINE void encode_numbers(float* x, std::int64_t n, std::uint8_t* codes) {
  for (std::int64_t i = 0; i < n; ++i) codes[i] = static_cast<std::uint8_t>(round_number<F>(x[i]));
}

/// The code that torchao gives a NaN in a format that has none: the arithmetic of its rounding, applied to the bits.
template <class F>
std::uint8_t code_of_nan(float v) {
  constexpr int shift = 23 - F::mantissa;
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(v), a = bits & kMagnitude, odd = (a >> shift) & 1;
  const std::uint32_t rebiased =
      a - (static_cast<std::uint32_t>(127 - F::bias) << 23) + ((1u << (shift - 1)) - 1) + odd;
  return static_cast<std::uint8_t>((rebiased >> shift & 0xff) | (bits >> 31 << (F::exponent + F::mantissa)));
}

/// Codes of a block in which x * by has NaN, in a format without.
template <class F>
void encode_nans(const float* x, std::int64_t n, float by, std::uint8_t* codes) {
  if constexpr (F::special == Special::finite) {
    for (std::int64_t i = 0; i < n; ++i) {
      const float v = x[i] * by;
      if (v != v) codes[i] = code_of_nan<F>(v);
    }
  }
}

/// Pairs of codes of four bits, the first in the low ones.
TERN_INLINE void pack_nibbles(const std::uint8_t* codes, std::int64_t n, std::uint8_t* to) {
  for (std::int64_t i = 0; i < n / 2; ++i) {
    std::uint16_t pair = 0;
    std::memcpy(&pair, codes + 2 * i, sizeof pair);
    to[i] = static_cast<std::uint8_t>((pair & 0xf) | (pair >> 4 & 0xf0));
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
