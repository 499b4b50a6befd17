// NVFP4: torchao's NVFP4WeightOnlyConfig, with its scale of the whole tensor.
//
//   outer = largest magnitude of the tensor / (448 * 6)
//   scale = (largest magnitude of the block / 6) / outer, from 2^-6 to 448, rounded to float8_e4m3fn
//   element = x * ((1 / outer) / scale), clamped to 6, rounded to nearest, ties to even
//
// Where the outer scale is zero, because the tensor is, torchao divides zero by zero and keeps NaN. Its elements here are
// zeros.
#include <array>

#include "exporter/quantize/block_loops.h"
#include "exporter/quantize/row.h"

namespace tern::quantize {
namespace {

constexpr std::int64_t kBlock = 16;
constexpr float kLeastScale = 0x1p-6F;

std::uint8_t scale_code(float largest, float outer) {
  const float scaled = outer == 0 ? 0.0F : largest / kLargest<E2M1> / outer;
  const float scale = scaled < kLeastScale ? kLeastScale : clamped(scaled, kLargest<E4M3FN>);
  return float_codec::encode<E4M3FN>(scale, Overflow::saturate);
}

}  // namespace

float nvfp4_outer(float largest) {
  return largest / (kLargest<E4M3FN> * kLargest<E2M1>);
}

void encode_nvfp4(const Row& row) {
  auto* to = reinterpret_cast<std::uint8_t*>(row.elements);
  auto* scales = reinterpret_cast<std::uint8_t*>(row.scales);
  const float inverse = 1.0F / row.outer;
  at_cpu_level([&]() __attribute__((always_inline)) {
    std::array<std::uint8_t, kBlock> codes;
    for (std::int64_t k = 0; k < row.columns; k += kBlock) {
      const float* const x = row.numbers + k;
      const std::uint8_t code = scale_code(std::bit_cast<float>(largest_bits(x, kBlock)), row.outer);
      const float scale = float_codec::decode<E4M3FN>(code);
      const float by = row.outer == 0 ? 0.0F : inverse / scale;
      encode_block<E2M1, false>(x, kBlock, by, scale * row.outer, codes.data(), row.back + k);
      if (row.outer != row.outer) {
        codes.fill(code_of_nan<E2M1>(std::bit_cast<float>(0x7fc00000u)));
      } else if (scale != scale || by == std::bit_cast<float>(float_codec::kInfinity32)) {
        encode_nans<E2M1>(x, kBlock, by, codes.data());
      }
      pack_nibbles(codes.data(), kBlock, to + k / 2);
      *scales++ = code;
    }
  });
}

}  // namespace tern::quantize
