// NVFP4: torchao's NVFP4WeightOnlyConfig, with its scale of the whole tensor.
//
//   outer = largest magnitude of the tensor / (448 * 6)
//   scale = (largest magnitude of the block / 6) / outer, from 2^-6 to 448, rounded to float8_e4m3fn
//   element = x * ((1 / outer) / scale), clamped to 6, rounded to nearest, ties to even
//
// Where the outer scale is zero, because the tensor is, torchao divides zero by zero and keeps NaN. Its elements here
// are zeros.
#include <array>

#include "exporter/quantize/block_loops.h"
#include "exporter/quantize/row.h"

namespace tern::quantize {
namespace {

constexpr std::int64_t kBlock = 16;
constexpr float kLeastScale = 0x1p-6F;

TERN_INLINE std::uint8_t scale_code(float largest, float outer) {
  const float scaled = outer == 0 ? 0.0F : largest / kLargest<E2M1> / outer;
  const float scale = scaled < kLeastScale ? kLeastScale : clamped(scaled, kLargest<E4M3FN>);
  return float_codec::encode<E4M3FN>(scale, Overflow::saturate);
}

/// What numbers of a block are multiplied by.
TERN_INLINE float reciprocal(std::uint8_t scale, float outer) {
  return outer == 0 ? 0.0F : 1.0F / outer / float_codec::decode<E4M3FN>(scale);
}

/// Of many blocks: codes of scales, what numbers are multiplied by, and what elements are.
TERN_INLINE void encode_scales(const std::uint32_t* __restrict largest, std::size_t blocks, float outer,
                               std::uint8_t* __restrict codes, float* __restrict by, float* __restrict scale) {
  for (std::size_t b = 0; b < blocks; ++b) {
    codes[b] = scale_code(std::bit_cast<float>(largest[b]), outer);
    by[b] = reciprocal(codes[b], outer);
    scale[b] = float_codec::decode<E4M3FN>(codes[b]) * outer;
  }
}

/// The codes of a block in which something is no number.
TERN_INLINE void fix_nans(const float* x, float by, float outer, std::uint8_t* codes) {
  if (outer != outer) {
    std::fill_n(codes, kBlock, code_of_nan<E2M1>(std::bit_cast<float>(0x7fc00000u)));
  } else if (by != by || by == std::bit_cast<float>(float_codec::kInfinity32)) {
    encode_nans<E2M1>(x, kBlock, by, codes);
  }
}

}  // namespace

float nvfp4_outer(float largest) {
  return largest / (kLargest<E4M3FN> * kLargest<E2M1>);
}

void encode_nvfp4(const Row& row) {
  auto* const to = reinterpret_cast<std::uint8_t*>(row.elements);
  auto* const scale_codes = reinterpret_cast<std::uint8_t*>(row.scales);
  std::array<std::uint8_t, kChunk> chunk;
  std::array<std::uint32_t, kChunk / kBlock> largest;
  std::array<float, kChunk / kBlock> by, scale;
  at_cpu_level([&]() __attribute__((always_inline)) {
    std::uint8_t* const codes = chunk.data();
    for (std::int64_t begin = 0; begin < row.columns; begin += kChunk) {
      const std::int64_t n = std::min(kChunk, row.columns - begin);
      const auto blocks = static_cast<std::size_t>(n / kBlock);
      const float* const x = row.numbers + begin;
      float* const back = row.back + begin;
      ask_for_next(row, begin, n, 0);
      largest_of_blocks<kBlock, kChunk>(x, n, largest.data());
      encode_scales(largest.data(), blocks, row.outer, codes, by.data(), scale.data());
      std::memcpy(scale_codes + begin / kBlock, codes, blocks);
      const auto count = static_cast<std::int64_t>(blocks);
      ask_for_next(row, begin, n, 1);
      multiply_clamped<E2M1, kBlock>(x, count, by.data(), back);
      ask_for_next(row, begin, n, 2);
      encode_numbers<E2M1>(back, n, codes);
      ask_for_next(row, begin, n, 3);
      multiply<kBlock>(back, count, scale.data());
      bool finite = true;
      for (std::size_t b = 0; b < blocks; ++b) finite &= by[b] < std::bit_cast<float>(float_codec::kInfinity32);
      for (std::size_t b = 0; !finite && b < blocks; ++b)
        fix_nans(x + b * kBlock, by[b], row.outer, codes + b * kBlock);
      pack_nibbles(codes, n, to + begin / 2);
    }
  });
}

}  // namespace tern::quantize
