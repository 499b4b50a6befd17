// MX blocks (OCP Microscaling Formats 1.0, 6.3) by torchao's to_mx.
//
//   exponent = exponent of the block's largest magnitude; `even` first rounds the magnitude to the element's mantissa,
//              `ceil` takes the next exponent unless the magnitude is a power of two
//   scale = 2^(exponent - largest exponent of the element type), from 2^-127 to 2^127; a block with NaN has the scale
//   NaN
//   element = x / scale, clamped, rounded to nearest, ties to even
//
// ScaleRule::search tries this scale, half of it, and 2 and 4 times it, and keeps the scale with the least squared
// error, weighted by the importance of each column.
//
// Elements with the scale 2^-127 are divided by 2^-126, like torchao's: numbers below 2^-118 lose a factor of two.
#include <array>

#include "exporter/passes/quantize/block_loops.h"
#include "exporter/passes/quantize/row.h"
#include "exporter/passes/quantize/scale_search.h"

namespace tern::quantize {
namespace {

constexpr std::uint8_t kNaN = 255;
constexpr std::int64_t kMicroscalingBlock = Sums::kLanes;

template <class F>
TERN_INLINE std::uint8_t scale_code(std::uint32_t largest, MxScales mode) {
  constexpr int kLargestExponent = static_cast<int>(std::bit_cast<std::uint32_t>(kLargest<F>) >> 23) - 127;
  if (largest > float_codec::kInfinity32) return kNaN;
  if (mode == MxScales::even) largest += 1u << (22 - F::mantissa);
  int exponent = static_cast<int>(largest >> 23);
  if (mode == MxScales::ceil && (largest & 0x7fffffu) != 0) ++exponent;
  return static_cast<std::uint8_t>(std::max(exponent - kLargestExponent, 0));
}

TERN_INLINE float scale_value(std::uint32_t code) {
  return std::bit_cast<float>(code == 0 ? 0x00400000u : code == kNaN ? 0x7fc00000u : code << 23);
}

/// 1 / scale, and of NaN 0: infinity and NaN become NaN, and numbers zero.
TERN_INLINE float reciprocal(std::uint32_t code) {
  if (code == kNaN) return 0;
  return std::bit_cast<float>(code == 254 ? 0x00400000u : (254 - std::max(code, 1u)) << 23);
}

/// Computes codes of the scales of many blocks, factors of their numbers, and factors of their elements.
template <class F>
TERN_INLINE void encode_scales(const std::uint32_t* __restrict largest, std::int64_t blocks, MxScales mode,
                               std::uint8_t* __restrict codes, float* __restrict factor, float* __restrict scale) {
  for (std::int64_t b = 0; b < blocks; ++b) {
    codes[b] = scale_code<F>(largest[b], mode);
    factor[b] = reciprocal(codes[b]);
    scale[b] = scale_value(codes[b]);
  }
}

/// Replaces the scales of blocks by those of a search.
template <class F>
TERN_INLINE void search_scales(const std::uint32_t* __restrict x, const float* __restrict importance,
                               const std::uint32_t* __restrict largest, std::int64_t blocks,
                               std::uint8_t* __restrict codes, float* __restrict factor, float* __restrict scale) {
  using Candidates = ScaleCandidates<4>;
  const float upper = unknown(kLargest<F>);
  for (std::int64_t b = 0; b < blocks; ++b, x += kMicroscalingBlock, importance += kMicroscalingBlock) {
    if (!is_searchable(std::bit_cast<float>(largest[b]))) continue;
    Candidates candidates;
    float scales[Candidates::kCount];
    for (std::int64_t c = 0; c < Candidates::kCount; ++c) {
      const std::uint32_t code = codes[b] + static_cast<std::uint32_t>(c) - 1;
      scales[c] = scale_value(code);
      candidates.by[c] = reciprocal(code);
    }
    candidates.add(x, importance, kMicroscalingBlock, round_to<F>(upper));
    const std::int64_t best_candidate_index = candidates.best_candidate(scales);
    codes[b] = static_cast<std::uint8_t>(codes[b] + best_candidate_index - 1);
    factor[b] = candidates.by[best_candidate_index];
    scale[b] = scales[best_candidate_index];
  }
}

template <class F>
void encode_microscaling(const WeightRow& row) {
  constexpr bool kPacks = 1 + F::exponent + F::mantissa == 4;
  std::array<std::uint16_t, kChunk> codes;
  std::array<std::uint32_t, kChunk / kMicroscalingBlock> largest;
  std::array<std::uint8_t, kChunk / kMicroscalingBlock> scale_codes;
  std::array<float, kChunk / kMicroscalingBlock> factor, scale;
  const auto to_index = [](std::int64_t b) __attribute__((always_inline)) {
    return static_cast<std::size_t>(b);
  };
  run_at_cpu_level([&](auto fused) __attribute__((always_inline)) {
    auto* const packed = reinterpret_cast<std::uint8_t*>(row.elements);
    Sums sums;
    for (std::int64_t begin = 0; begin < row.columns; begin += kChunk) {
      const std::int64_t n = std::min(kChunk, row.columns - begin), blocks = n / kMicroscalingBlock;
      const auto* const x = row.numbers + begin;
      prefetch_next_row(row, begin, n, 0);
      largest_of_blocks<kMicroscalingBlock, kChunk>(x, n, largest.data());
      encode_scales<F>(largest.data(), blocks, row.recipe.mx_scales, scale_codes.data(), factor.data(), scale.data());
      if (row.recipe.rule != ScaleRule::torchao) {
        search_scales<F>(x, row.importance + begin, largest.data(), blocks, scale_codes.data(), factor.data(),
                         scale.data());
      }
      std::memcpy(row.scales + begin / kMicroscalingBlock, scale_codes.data(), to_index(blocks));
      prefetch_next_row(row, begin, n, 1);
      encode_blocks<decltype(fused)::value, F>(x, blocks, factor.data(), scale.data(), codes.data(), sums);
      prefetch_next_row(row, begin, n, 2);
      for (std::int64_t b = 0; b < blocks; ++b) {
        if (scale_codes[to_index(b)] != kNaN) continue;
        encode_nans<F>(
            x + b * kMicroscalingBlock, kMicroscalingBlock, [](float v) { return v * reciprocal(kNaN); },
            codes.data() + b * kMicroscalingBlock);
      }
      prefetch_next_row(row, begin, n, 3);
      kPacks ? pack_nibbles(codes.data(), n, packed + begin / 2) : pack_bytes(codes.data(), n, packed + begin);
    }
    sums.add_to(*row.error);
  });
}

}  // namespace

void encode_microscaling(const WeightRow& row) {
  switch (row.recipe.format->element) {
    case DType::f4_e2m1: return encode_microscaling<E2M1>(row);
    case DType::f6_e2m3: return encode_microscaling<E2M3>(row);
    case DType::f6_e3m2: return encode_microscaling<E3M2>(row);
    case DType::f8_e5m2: return encode_microscaling<E5M2>(row);
    default: return encode_microscaling<E4M3FN>(row);
  }
}

}  // namespace tern::quantize
