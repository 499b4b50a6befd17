// int8 with a scale for each row, int4 with one for each group: torchao's choose_qparams_affine (symmetric) and
// quantize_affine, as Int8WeightOnlyConfig and IntxWeightOnlyConfig(int4, PerGroup) call them.
//
//   scale = largest magnitude / 127.5 (int8) or / 7.5 (int4), rounded to the weight's type, at least `least`
//   element = round_half_even(x * (1 / scale)), clamped
//
// int4 rounds each operation to the weight's type; int8 computes in float32. NaN becomes the element 0.
#include <array>

#include "dtypes/convert.h"
#include "exporter/quantize/block_loops.h"
#include "exporter/quantize/row.h"

namespace tern::quantize {
namespace {

constexpr std::int64_t kChunk = 1024;  // of codes that are packed; a multiple of the block or the other way round

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

float scale_of(const Row& row, std::uint32_t largest, const Range& range) {
  const float scale = rounded_to(row.type, std::bit_cast<float>(largest) / range.steps);
  const float least = least_scale(row);
  return scale < least ? least : scale;  // NaN stays
}

/// Rounds to a whole number by adding one whose last bit is worth 1.
TERN_INLINE float whole(float v) {
  constexpr float kOnes = 0x1.8p23F;
  return v + kOnes - kOnes;
}

/// Type: in which products are rounded.
template <DType type>
TERN_INLINE void round_block(const float* x, std::int64_t n, float scale, const Range& range, std::uint8_t* codes,
                              float* back) {
  const float by = rounded_to(type, 1.0F / scale);
  for (std::int64_t i = 0; i < n; ++i) {
    const float v = whole(rounded_to(type, x[i] * by));
    const float q = v > range.least ? (v < range.most ? v : range.most) : v == v ? range.least : 0;
    codes[i] = static_cast<std::uint8_t>(static_cast<std::int32_t>(q));
    back[i] = q * scale;
  }
}

void encode_bytes(const Row& row) {
  auto* const codes = reinterpret_cast<std::uint8_t*>(row.elements);
  at_cpu_level([&]() __attribute__((always_inline)) {
    const float scale = scale_of(row, largest_bits(row.numbers, row.columns), kBytes);
    round_block<DType::f32>(row.numbers, row.columns, scale, kBytes, codes, row.back);
    convert(&scale, DType::f32, row.scales, DType::f32, 1);
  });
}

template <DType type>
void encode_nibbles(const Row& row) {
  auto* to = reinterpret_cast<std::uint8_t*>(row.elements);
  std::byte* scales = row.scales;
  at_cpu_level([&]() __attribute__((always_inline)) {
    std::array<std::uint8_t, kChunk> codes;
    const std::int64_t block = row.recipe.block;
    for (std::int64_t k = 0; k < row.columns; k += block) {
      const float scale = scale_of(row, largest_bits(row.numbers + k, block), kNibbles);
      for (std::int64_t i = k; i < k + block; i += kChunk) {
        const std::int64_t n = std::min(kChunk, k + block - i);
        round_block<type>(row.numbers + i, n, scale, kNibbles, codes.data(), row.back + i);
        pack_nibbles(codes.data(), n, to + i / 2);
      }
      if constexpr (type == DType::f32) {
        std::memcpy(scales, &scale, sizeof scale);
      } else {
        convert(&scale, DType::f32, scales, type, 1);
      }
      scales += element_size(type);
    }
  });
}

}  // namespace

void encode_integers(const Row& row) {
  if (row.recipe.format->element == DType::i8) return encode_bytes(row);
  if (row.type == DType::bf16) return encode_nibbles<DType::bf16>(row);
  if (row.type == DType::f16) return encode_nibbles<DType::f16>(row);
  encode_nibbles<DType::f32>(row);
}

}  // namespace tern::quantize
