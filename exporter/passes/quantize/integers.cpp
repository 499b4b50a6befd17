// int8 with a scale per row, int4 with a scale per group.
//
//   element = round_half_even(x * (1 / scale)), clamped
//
// ScaleRule::search: 16 candidates give the largest magnitude 7 to 10 steps of int4 (7 to 14 in groups above 128), or
// 126 to 141 steps of int8. In int4 it becomes a negative element, because -8 reaches further than 7: scales may be
// negative. The elements of the best candidate decide the scale: s = sum(w x q) / sum(w q^2), least squares, with the
// importance w of each column. It is rounded to the weight's type (int4), and elements are rounded again with it.
// Blocks out of range (is_searchable) have torchao's scale.
//
// ScaleRule::torchao: torchao's choose_qparams_affine (symmetric) and quantize_affine, in the form of
// Int8WeightOnlyConfig and IntxWeightOnlyConfig(int4, PerGroup).
//
//   scale = largest magnitude / 127.5 (int8) or / 7.5 (int4), rounded to the weight's type, at least `lower`
//
// int4 rounds each operation to the weight's type; all else computes in float32. NaN becomes the element 0. bfloat16
// group scales beside a wider weight are the only values rounded to bfloat16.
#include <array>
#include <vector>

#include "dtypes/convert.h"
#include "exporter/passes/quantize/block_loops.h"
#include "exporter/passes/quantize/row.h"
#include "exporter/passes/quantize/scale_search.h"

namespace tern::quantize {
namespace {

constexpr std::int64_t kUsualBlock = 32;

struct StepRange {
  float steps;  // steps of the largest magnitude
  float min, max;
};
constexpr StepRange kBytes{127.5F, -128, 127}, kNibbles{7.5F, -8, 7};

/// Hides the bounds from the compiler, for loops over numbers.
TERN_INLINE StepRange unknown_range(const StepRange& r) {
  return {r.steps, unknown(r.min), unknown(r.max)};
}

/// The smallest scale: float32's epsilon for int8, the smallest normal number of the weight's type for int4.
float least_scale(const WeightRow& row) {
  if (row.recipe.format->element == DType::i8) return 0x1p-23F;
  return row.type == DType::f16 ? 0x1p-14F : 0x1p-126F;
}

TERN_INLINE float scale_of(DType type, std::uint32_t largest, const StepRange& range, float lower) {
  const float scale = rounded_to(type, std::bit_cast<float>(largest) / range.steps);
  return scale < lower ? lower : scale;  // NaN stays
}

/// Rounds to the mantissa of a 16-bit type by adding 1.5 * 2^23 of its steps. The magnitude is at most 2^15.
template <DType type>
TERN_INLINE float rounded(float v) {
  if constexpr (type == DType::f32) return v;
  constexpr std::uint32_t kBits = type == DType::f16 ? 10 : 7, kMinExponent = type == DType::f16 ? 113u << 23 : 0u;
  const std::uint32_t exponent = std::max(std::bit_cast<std::uint32_t>(v) & 0x7f800000u, kMinExponent);
  const float rounding_magic = std::bit_cast<float>(exponent + ((23 - kBits) << 23 | 0x400000u));
  return v + rounding_magic - rounding_magic;
}

/// Factor of the numbers.
template <DType type>
TERN_INLINE float reciprocal(float scale) {
  return rounded_to(type, 1.0F / scale);
}

/// Writes the elements of up to Sums::kLanes numbers as the last bits of `codes`. `type`: rounding type of products.
/// Adding a number with a last bit worth 1 rounds to a whole number.
template <bool kFused, DType type>
TERN_INLINE void round_numbers(const std::uint32_t* __restrict x, std::int64_t n, float factor, float scale,
                               const StepRange& range, std::uint16_t* __restrict codes, Sums& sums) {
  constexpr float kIntegerMagic = 0x1.8p23F;
#pragma GCC unroll 1
  for (std::int64_t i = 0; i < n; ++i) {
    const float number = value_of(x[i]), v = rounded<type>(number * factor);
    const float clamped_below = v > range.min ? v : range.min,
                sum = (clamped_below < range.max ? clamped_below : range.max) + kIntegerMagic;
    codes[i] = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(sum));
    sums.add<kFused>(i, number, (sum - kIntegerMagic) * scale);
  }
}

/// Rounds to whole numbers of the range.
TERN_INLINE auto round_to_range(const StepRange& range) {
  return [ least = range.min, most = range.max ](float v) __attribute__((always_inline)) {
    constexpr float kIntegerMagic = 0x1.8p23F;
    const float clamped_below = v > least ? v : least;
    return (clamped_below < most ? clamped_below : most) + kIntegerMagic - kIntegerMagic;
  };
}

/// The scale of least squares, or 0 where the block is out of range. `fewest`, `upper`: steps of the largest magnitude.
TERN_INLINE float search_scale(const std::uint32_t* __restrict x, const float* __restrict importance, std::int64_t n,
                               float largest, float fewest, float upper, const StepRange& range) {
  if (!is_searchable(largest)) return 0;
  ScaleCandidates<> candidates;
  const float candidate_step = (upper - fewest) / static_cast<float>(ScaleCandidates<>::kCount - 1);
  for (std::int64_t c = 0; c < ScaleCandidates<>::kCount; ++c)
    candidates.by[c] = (fewest + static_cast<float>(c) * candidate_step) / largest;
  candidates.add(x, importance, n, round_to_range(range));
  return candidates.least_squares();
}

constexpr float kFewestByteSteps = 126, kMostByteSteps = 141;
constexpr float kFewestNibbleSteps = 7, kMostNibbleSteps = 10, kMostNibbleStepsOfLong = 14;
constexpr std::int64_t kLongBlock = 128;

void encode_bytes(const WeightRow& row) {
  const float lower = least_scale(row);
  auto* const packed = reinterpret_cast<std::uint8_t*>(row.elements);
  const auto* const numbers = row.numbers;
  std::array<std::uint16_t, kChunk> codes;
  run_at_cpu_level([&](auto fused) __attribute__((always_inline)) {
    const StepRange range = unknown_range(kBytes);
    const std::uint32_t largest = largest_bits(numbers, row.columns);
    float scale = scale_of(row.type, largest, kBytes, lower);
    if (row.recipe.rule != ScaleRule::torchao) {
      const float found = search_scale(numbers, row.importance, row.columns, std::bit_cast<float>(largest),
                                       kFewestByteSteps, kMostByteSteps, range);
      if (found > lower) scale = found;
    }
    const float factor = reciprocal<DType::f32>(scale);
    Sums sums;
    for (std::int64_t begin = 0; begin < row.columns; begin += kChunk) {
      const std::int64_t n = std::min(kChunk, row.columns - begin);
      const auto* const x = numbers + begin;
      prefetch_next_row(row, begin, n, 0);
      prefetch_next_row(row, begin, n, 1);
      visit_lane_chunks(
          n, [&](std::int64_t i, std::int64_t count) __attribute__((always_inline)) {
            round_numbers<decltype(fused)::value, DType::f32>(x + i, count, factor, scale, range, codes.data() + i,
                                                              sums);
          });
      prefetch_next_row(row, begin, n, 2);
      if (!(scale < kInfinity)) codes.fill(0);
      pack_bytes(codes.data(), n, packed + begin);
      prefetch_next_row(row, begin, n, 3);
    }
    sums.add_to(*row.error);
    std::memcpy(row.scales, &scale, sizeof scale);
  });
}

/// Computes the scales of many blocks, rounded to `scale_dtype`, and the factors of their numbers. Returns true if all
/// are finite.
template <DType type>
TERN_INLINE bool encode_scales(const std::uint32_t* __restrict largest, std::int64_t blocks, DType scale_dtype,
                               float lower, float* __restrict scales, float* __restrict factor) {
  std::uint32_t upper = 0;
  for (std::int64_t b = 0; b < blocks; ++b) {
    scales[b] = scale_of(scale_dtype, largest[b], kNibbles, lower);
    factor[b] = reciprocal<type>(scales[b]);
    upper = std::max(upper, std::bit_cast<std::uint32_t>(scales[b]) & kMagnitude);
  }
  return upper < float_codec::kInfinity32;
}

/// True if a number of the largest magnitude is positive.
TERN_INLINE bool largest_is_positive(const std::uint32_t* __restrict x, std::int64_t n, std::uint32_t largest) {
  std::uint32_t found = 0;
  for (std::int64_t i = 0; i < n; ++i) found |= x[i] == largest ? 1u : 0u;
  return found != 0;
}

/// Replaces the scales of blocks, and the factors of their numbers, by those of a search.
TERN_INLINE void search_scales(const std::uint32_t* __restrict x, const float* __restrict importance,
                               const std::uint32_t* __restrict largest, std::int64_t blocks, std::int64_t block,
                               DType scale_dtype, float lower, const StepRange& range, float* __restrict scales,
                               float* __restrict factor) {
  const float upper = block > kLongBlock ? kMostNibbleStepsOfLong : kMostNibbleSteps;
  for (std::int64_t b = 0; b < blocks; ++b) {
    const auto* const block_begin = x + b * block;
    const bool positive = largest_is_positive(block_begin, block, largest[b]);
    const float found =
        search_scale(block_begin, importance + b * block, block, std::bit_cast<float>(largest[b]),
                     positive ? -kFewestNibbleSteps : kFewestNibbleSteps, positive ? -upper : upper, range);
    const float scale = rounded_to(scale_dtype, found);
    if (!(std::bit_cast<float>(std::bit_cast<std::uint32_t>(scale) & kMagnitude) >= lower)) continue;
    scales[b] = scale;
    factor[b] = 1.0F / scale;
  }
}

/// `type`: rounding type of products; `scale_dtype`: type of the scales.
template <DType type>
void encode_nibbles(const WeightRow& row, DType scale_dtype) {
  const bool searches = type == DType::f32 && row.recipe.rule != ScaleRule::torchao;
  auto* const packed = reinterpret_cast<std::uint8_t*>(row.elements);
  const std::int64_t block = row.recipe.block, together = std::max<std::int64_t>(1, kChunk / block) * block;
  const float lower = least_scale(row);
  std::array<std::uint32_t, kChunk> largest;  // a block has at least two elements
  std::array<float, kChunk> scales, factor;
  std::vector<std::uint16_t> codes(static_cast<std::size_t>(std::min(together, row.columns)));
  const auto to_index = [](std::int64_t b) __attribute__((always_inline)) {
    return static_cast<std::size_t>(b);
  };
  run_at_cpu_level([&](auto fused) __attribute__((always_inline)) {
    constexpr bool kFused = decltype(fused)::value;
    const StepRange range = unknown_range(kNibbles);
    Sums sums;
    for (std::int64_t begin = 0; begin < row.columns; begin += together) {
      const std::int64_t n = std::min(together, row.columns - begin), blocks = n / block;
      const auto* const x = row.numbers + begin;
      prefetch_next_row(row, begin, n, 0);
      if (block == kUsualBlock) {
        largest_of_blocks<kUsualBlock, kChunk>(x, n, largest.data());
      } else {
        for (std::int64_t b = 0; b < blocks; ++b) largest[to_index(b)] = largest_bits(x + b * block, block);
      }
      prefetch_next_row(row, begin, n, 1);
      const bool finite = encode_scales<type>(largest.data(), blocks, scale_dtype, lower, scales.data(), factor.data());
      if (searches) {
        search_scales(x, row.importance + begin, largest.data(), blocks, block, scale_dtype, lower, range,
                      scales.data(), factor.data());
      }
      for (std::int64_t b = 0; b < blocks; ++b) {
        const auto* const block_begin = x + b * block;
        std::uint16_t* const block_codes = codes.data() + b * block;
        const float f = factor[to_index(b)], scale = scales[to_index(b)];
        one_block_at_a_time();
        if (block == kUsualBlock) {
          round_numbers<kFused, type>(block_begin, kUsualBlock, f, scale, range, block_codes, sums);
        } else {
          visit_lane_chunks(
              block, [&](std::int64_t i, std::int64_t count) __attribute__((always_inline)) {
                round_numbers<kFused, type>(block_begin + i, count, f, scale, range, block_codes + i, sums);
              });
        }
      }
      prefetch_next_row(row, begin, n, 2);
      for (std::int64_t b = 0; !finite && b < blocks; ++b) {
        if (!(scales[to_index(b)] < kInfinity)) std::fill_n(codes.data() + b * block, block, std::uint16_t{0});
      }
      prefetch_next_row(row, begin, n, 3);
      pack_nibbles(codes.data(), n, packed + begin / 2);
      convert(scales.data(), DType::f32, row.scales + begin / block * element_size(scale_dtype), scale_dtype, blocks);
    }
    sums.add_to(*row.error);
  });
}

}  // namespace

void encode_integers(const WeightRow& row) {
  if (row.recipe.format->element == DType::i8) return encode_bytes(row);
  const DType scale_dtype = row.recipe.bfloat16_scales ? DType::bf16 : row.type;
  // The search computes in float32, whatever type the weight has.
  const DType type = row.recipe.rule == ScaleRule::torchao ? row.type : DType::f32;
  if (type == DType::bf16) return encode_nibbles<DType::bf16>(row, scale_dtype);
  if (type == DType::f16) return encode_nibbles<DType::f16>(row, scale_dtype);
  encode_nibbles<DType::f32>(row, scale_dtype);
}

}  // namespace tern::quantize
