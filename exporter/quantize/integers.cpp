// int8 with a scale for each row, int4 with one for each group: torchao's choose_qparams_affine (symmetric) and
// quantize_affine, as Int8WeightOnlyConfig and IntxWeightOnlyConfig(int4, PerGroup) call them.
//
//   scale = largest magnitude / 127.5 (int8) or / 7.5 (int4), rounded to the weight's type, at least `least`
//   element = round_half_even(x * (1 / scale)), clamped
//
// int4 rounds each operation to the weight's type; int8 computes in float32. NaN becomes the element 0. Where scales of
// groups are to be bfloat16 beside a wider weight, only they are rounded to it.
#include <array>
#include <vector>

#include "dtypes/convert.h"
#include "exporter/quantize/block_loops.h"
#include "exporter/quantize/row.h"

namespace tern::quantize {
namespace {

constexpr std::int64_t kUsualBlock = 32;

struct Range {
  float steps;  // of the largest magnitude
  float least, most;
};
constexpr Range kBytes{127.5F, -128, 127}, kNibbles{7.5F, -8, 7};

/// The smallest scale: float32's epsilon for int8, the smallest normal number of the weight's type for int4.
float least_scale(const Row& row) {
  if (row.recipe.format->element == DType::i8) return 0x1p-23F;
  return row.type == DType::f16 ? 0x1p-14F : 0x1p-126F;
}

TERN_INLINE float scale_of(DType type, std::uint32_t largest, const Range& range, float least) {
  const float scale = rounded_to(type, std::bit_cast<float>(largest) / range.steps);
  return scale < least ? least : scale;  // NaN stays
}

/// Rounds to a whole number by adding one whose last bit is worth 1.
TERN_INLINE float whole(float v) {
  constexpr float kOnes = 0x1.8p23F;
  return v + kOnes - kOnes;
}

/// What numbers are multiplied by.
template <DType type>
TERN_INLINE float reciprocal(float scale) {
  return rounded_to(type, 1.0F / scale);
}

/// Elements as floats. `type`: in which products are rounded.
template <DType type>
TERN_INLINE void round_block(const float* x, std::int64_t n, float by, const Range& range, float* elements) {
  for (std::int64_t i = 0; i < n; ++i) {
    const float v = whole(rounded_to(type, x[i] * by));
    elements[i] = v > range.least ? (v < range.most ? v : range.most) : v == v ? range.least : 0;
  }
}

TERN_INLINE void codes_of(const float* elements, std::int64_t n, std::uint8_t* codes) {
  for (std::int64_t i = 0; i < n; ++i) codes[i] = static_cast<std::uint8_t>(static_cast<std::int32_t>(elements[i]));
}

void encode_bytes(const Row& row) {
  const float least = least_scale(row);
  at_cpu_level([&]() __attribute__((always_inline)) {
    const float scale = scale_of(row.type, largest_bits(row.numbers, row.columns), kBytes, least),
                by = reciprocal<DType::f32>(scale);
    for (std::int64_t begin = 0; begin < row.columns; begin += kChunk) {
      const std::int64_t n = std::min(kChunk, row.columns - begin);
      float* const back = row.back + begin;
      ask_for_next(row, begin, n, 0);
      ask_for_next(row, begin, n, 1);
      round_block<DType::f32>(row.numbers + begin, n, by, kBytes, back);
      ask_for_next(row, begin, n, 2);
      codes_of(back, n, reinterpret_cast<std::uint8_t*>(row.elements) + begin);
      ask_for_next(row, begin, n, 3);
      multiply(back, n, scale);
    }
    std::memcpy(row.scales, &scale, sizeof scale);
  });
}

/// Of many blocks: scales, rounded to `stored`, and what numbers are multiplied by.
template <DType type, DType stored>
TERN_INLINE void encode_scales(const std::uint32_t* __restrict largest, std::int64_t blocks, float least,
                               float* __restrict scales, float* __restrict by) {
  for (std::int64_t b = 0; b < blocks; ++b) {
    scales[b] = scale_of(stored, largest[b], kNibbles, least);
    by[b] = reciprocal<type>(scales[b]);
  }
}

template <DType type, DType stored = type>
void encode_nibbles(const Row& row) {
  auto* const to = reinterpret_cast<std::uint8_t*>(row.elements);
  const std::int64_t block = row.recipe.block, together = std::max<std::int64_t>(1, kChunk / block) * block;
  const float least = least_scale(row);
  std::array<std::uint32_t, kChunk> largest;  // at least two elements for each
  std::array<float, kChunk> scales, by;
  std::vector<std::uint8_t> codes(static_cast<std::size_t>(std::min(together, row.columns)));
  at_cpu_level([&]() __attribute__((always_inline)) {
    for (std::int64_t begin = 0; begin < row.columns; begin += together) {
      const std::int64_t n = std::min(together, row.columns - begin), blocks = n / block;
      float* const back = row.back + begin;
      const float* const x = row.numbers + begin;
      ask_for_next(row, begin, n, 0);
      if (block == kUsualBlock) {
        largest_of_blocks<kUsualBlock, kChunk>(x, n, largest.data());
      } else {
        for (std::int64_t b = 0; b < blocks; ++b)
          largest[static_cast<std::size_t>(b)] = largest_bits(x + b * block, block);
      }
      ask_for_next(row, begin, n, 1);
      encode_scales<type, stored>(largest.data(), blocks, least, scales.data(), by.data());
      for (std::int64_t b = 0; b < blocks; ++b)
        round_block<type>(x + b * block, block, by[static_cast<std::size_t>(b)], kNibbles, back + b * block);
      ask_for_next(row, begin, n, 2);
      codes_of(back, n, codes.data());
      ask_for_next(row, begin, n, 3);
      pack_nibbles(codes.data(), n, to + begin / 2);
      for (std::int64_t b = 0; b < blocks; ++b) multiply(back + b * block, block, scales[static_cast<std::size_t>(b)]);
      convert(scales.data(), DType::f32, row.scales + begin / block * element_size(stored), stored, blocks);
    }
  });
}

}  // namespace

void encode_integers(const Row& row) {
  if (row.recipe.format->element == DType::i8) return encode_bytes(row);
  if (row.type == DType::bf16) return encode_nibbles<DType::bf16>(row);
  const bool narrow = row.recipe.bfloat16_scales;
  if (row.type == DType::f16)
    return narrow ? encode_nibbles<DType::f16, DType::bf16>(row) : encode_nibbles<DType::f16>(row);
  narrow ? encode_nibbles<DType::f32, DType::bf16>(row) : encode_nibbles<DType::f32>(row);
}

}  // namespace tern::quantize
