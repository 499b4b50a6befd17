// NVFP4: torchao's NVFP4WeightOnlyConfig, with its scale of the whole tensor.
//
//   outer = largest magnitude of the tensor / (448 * 6)
//   scale = (largest magnitude of the block / 6) / outer, from 2^-6 to 448, rounded to float8_e4m3fn
//   element = x * ((1 / outer) / scale), clamped to 6, rounded to nearest, ties to even
//
// ScaleRule::torchao has its bits. ScaleRule::search tries 16 scales around that one, from 0.65 to 2 times as large,
// and keeps the scale with the least squared error, weighted by the importance of each column.
//
// torchao divides zero by zero for a tensor of zeros, whose outer scale is zero, and keeps NaN. Elements are zeros
// here.
#include <array>

#include "exporter/passes/quantize/block_loops.h"
#include "exporter/passes/quantize/row.h"
#include "exporter/passes/quantize/scale_search.h"

namespace tern::quantize {
namespace {

constexpr std::int64_t kNvfp4Block = 16;
constexpr float kLeastScale = 0x1p-6F;

TERN_INLINE std::uint8_t scale_code(float largest, float outer) {
  const float scaled = outer == 0 ? 0.0F : largest / kLargest<E2M1> / outer;
  const float scale = scaled < kLeastScale ? kLeastScale : scaled > kLargest<E4M3FN> ? kLargest<E4M3FN> : scaled;
  return float_codec::encode<E4M3FN>(scale, Overflow::saturate);
}

/// Factor of the numbers of a block.
TERN_INLINE float reciprocal(std::uint8_t scale, float outer) {
  return outer == 0 ? 0.0F : 1.0F / outer / float_codec::decode<E4M3FN>(scale);
}

/// Computes codes of the scales of many blocks, factors of their numbers, and factors of their elements.
TERN_INLINE void encode_scales(const std::uint32_t* __restrict largest, std::size_t blocks, float outer,
                               std::uint8_t* __restrict codes, float* __restrict factor, float* __restrict scale) {
  for (std::size_t b = 0; b < blocks; ++b) {
    codes[b] = scale_code(std::bit_cast<float>(largest[b]), outer);
    factor[b] = reciprocal(codes[b], outer);
    scale[b] = float_codec::decode<E4M3FN>(codes[b]) * outer;
  }
}

/// The same where nothing is infinite, NaN or far from 1, in fewer instructions.
TERN_INLINE void encode_near_scales(const std::uint32_t* __restrict largest, std::size_t blocks, float outer,
                                    std::uint8_t* __restrict codes, float* __restrict factor, float* __restrict scale) {
  const float inverse = 1.0F / outer;
  for (std::size_t b = 0; b < blocks; ++b) {
    const float of_elements = quotient(std::bit_cast<float>(largest[b]), kLargest<E2M1>, 1.0F / kLargest<E2M1>);
    const float scaled = quotient(of_elements, outer, inverse);
    float v = clamp_magnitude(scaled < kLeastScale ? kLeastScale : scaled, kLargest<E4M3FN>);
    codes[b] = static_cast<std::uint8_t>(round_magnitude<E4M3FN>(v));
    factor[b] = inverse / v;
    scale[b] = v * outer;
  }
}

TERN_INLINE bool all_finite(const std::uint32_t* largest, std::size_t blocks) {
  std::uint32_t upper = 0;
  for (std::size_t b = 0; b < blocks; ++b) upper = std::max(upper, largest[b]);
  return upper < float_codec::kInfinity32;
}

constexpr int kSmallerScales = 5;                   // candidates below torchao's scale
constexpr int kLeastCode = 8, kLargestCode = 0x7e;  // codes 2^-6 and 448: normal numbers of float8_e4m3fn

/// Replaces the scales of blocks by those of a search.
TERN_INLINE void search_scales(const std::uint32_t* __restrict x, const float* __restrict importance,
                               const std::uint32_t* __restrict largest, std::size_t blocks, float outer,
                               std::uint8_t* __restrict codes, float* __restrict factor, float* __restrict scale) {
  const float upper = unknown(kLargest<E2M1>);
  for (std::size_t b = 0; b < blocks; ++b, x += kNvfp4Block, importance += kNvfp4Block) {
    if (!is_searchable(std::bit_cast<float>(largest[b]))) continue;
    ScaleCandidates<> candidates;
    std::uint8_t candidate_codes[ScaleCandidates<>::kCount];
    float scales[ScaleCandidates<>::kCount];
    for (std::int64_t c = 0; c < ScaleCandidates<>::kCount; ++c) {
      const int code = codes[b] - kSmallerScales + static_cast<int>(c);
      candidate_codes[c] = static_cast<std::uint8_t>(std::clamp(code, kLeastCode, kLargestCode));
      const float v = std::bit_cast<float>((static_cast<std::uint32_t>(candidate_codes[c]) << 20) + (120u << 23));
      scales[c] = v * outer;
      candidates.by[c] = 1.0F / outer / v;
    }
    candidates.add(x, importance, kNvfp4Block, round_to<E2M1>(upper));
    const std::int64_t best_candidate_index = candidates.best_candidate(scales);
    codes[b] = candidate_codes[best_candidate_index];
    factor[b] = candidates.by[best_candidate_index];
    scale[b] = scales[best_candidate_index];
  }
}

/// Corrects the codes of a block with NaN.
void fix_nans(const std::uint32_t* x, float factor, float outer, std::uint16_t* codes) {
  if (outer != outer) {
    std::fill_n(codes, kNvfp4Block, code_of_nan<E2M1>(std::bit_cast<float>(0x7fc00000u)));
  } else if (factor != factor || factor == kInfinity) {
    encode_nans<E2M1>(
        x, kNvfp4Block, [factor](float v) { return v * factor; }, codes);
  }
}

}  // namespace

void encode_nvfp4(const WeightRow& row) {
  auto* const packed = reinterpret_cast<std::uint8_t*>(row.elements);
  auto* const scales = reinterpret_cast<std::uint8_t*>(row.scales);
  std::array<std::uint16_t, kChunk> codes;
  std::array<std::uint32_t, kChunk / kNvfp4Block> largest;
  std::array<std::uint8_t, kChunk / kNvfp4Block> scale_codes;
  std::array<float, kChunk / kNvfp4Block> factor, scale;
  std::array<float, kChunk> by_number, scale_of_number;
  run_at_cpu_level([&](auto fused) __attribute__((always_inline)) {
    Sums sums;
    for (std::int64_t begin = 0; begin < row.columns; begin += kChunk) {
      const std::int64_t n = std::min(kChunk, row.columns - begin), count = n / kNvfp4Block;
      const auto blocks = static_cast<std::size_t>(count);
      const auto* const x = row.numbers + begin;
      prefetch_next_row(row, begin, n, 0);
      largest_of_blocks<kNvfp4Block, kChunk>(x, n, largest.data());
      if (decltype(fused)::value && is_near(row.outer) && all_finite(largest.data(), blocks)) {
        encode_near_scales(largest.data(), blocks, row.outer, scale_codes.data(), factor.data(), scale.data());
      } else {
        encode_scales(largest.data(), blocks, row.outer, scale_codes.data(), factor.data(), scale.data());
      }
      if (row.recipe.rule != ScaleRule::torchao && is_searchable(row.outer)) {
        search_scales(x, row.importance + begin, largest.data(), blocks, row.outer, scale_codes.data(), factor.data(),
                      scale.data());
      }
      std::memcpy(scales + begin / kNvfp4Block, scale_codes.data(), blocks);
      prefetch_next_row(row, begin, n, 1);
      spread<kNvfp4Block>(factor.data(), count, by_number.data());
      spread<kNvfp4Block>(scale.data(), count, scale_of_number.data());
      encode_scaled<decltype(fused)::value, E2M1>(x, n, by_number.data(), scale_of_number.data(), codes.data(), sums);
      prefetch_next_row(row, begin, n, 2);
      bool finite = true;
      for (std::size_t b = 0; b < blocks; ++b) finite &= factor[b] < kInfinity;
      for (std::size_t b = 0; !finite && b < blocks; ++b)
        fix_nans(x + b * kNvfp4Block, factor[b], row.outer, codes.data() + b * kNvfp4Block);
      prefetch_next_row(row, begin, n, 3);
      pack_nibbles(codes.data(), n, packed + begin / 2);
    }
    sums.add_to(*row.error);
  });
}

float nvfp4_outer(float largest) {
  return largest / (kLargest<E4M3FN> * kLargest<E2M1>);
}

}  // namespace tern::quantize
