// MX blocks (OCP Microscaling Formats 1.0, 6.3) by torchao's to_mx.
//
//   exponent = that of the block's largest magnitude; `even` first rounds the magnitude to the element's mantissa, `ceil`
//              takes the next exponent unless the magnitude is a power of two
//   scale = 2^(exponent - largest exponent of the element type), from 2^-127 to 2^127; a block with NaN has the scale NaN
//   element = x / scale, clamped, rounded to nearest, ties to even
//
// As torchao, elements beside the scale 2^-127 are divided by 2^-126: numbers below 2^-118 lose a factor of two.
#include <array>

#include "exporter/quantize/block_loops.h"
#include "exporter/quantize/row.h"

namespace tern::quantize {
namespace {

constexpr std::uint32_t kNaN = 255;

template <class F>
std::uint32_t scale_code(std::uint32_t largest, MxScales mode) {
  constexpr int kLargestExponent = static_cast<int>(std::bit_cast<std::uint32_t>(kLargest<F>) >> 23) - 127;
  if (largest > float_codec::kInfinity32) return kNaN;
  if (mode == MxScales::even) largest += 1u << (22 - F::mantissa);
  int exponent = static_cast<int>(largest >> 23);
  if (mode == MxScales::ceil && (largest & 0x7fffffu) != 0) ++exponent;
  return static_cast<std::uint32_t>(std::max(exponent - kLargestExponent, 0));
}

float scale_value(std::uint32_t code) {
  return std::bit_cast<float>(code == 0 ? 0x00400000u : code == kNaN ? 0x7fc00000u : code << 23);
}

/// 1 / scale, and of NaN 0: infinity and NaN become NaN, and numbers zero.
float reciprocal(std::uint32_t code) {
  if (code == kNaN) return 0;
  return std::bit_cast<float>(code == 254 ? 0x00400000u : (254 - std::max(code, 1u)) << 23);
}

template <class F>
void encode(const Row& row) {
  constexpr int kBits = 1 + F::exponent + F::mantissa;
  constexpr std::int64_t kMost = 32;
  auto* to = reinterpret_cast<std::uint8_t*>(row.elements);
  auto* scales = reinterpret_cast<std::uint8_t*>(row.scales);
  at_cpu_level([&]() __attribute__((always_inline)) {
    std::array<std::uint8_t, kMost> packed;
    for (std::int64_t k = 0; k < row.columns; k += kMost) {
      const float* const x = row.numbers + k;
      const std::uint32_t code = scale_code<F>(largest_bits(x, kMost), row.recipe.mx_scales);
      const float by = reciprocal(code);
      std::uint8_t* const codes = kBits == 4 ? packed.data() : to + k;
      encode_block<F, false>(x, kMost, by, scale_value(code), codes, row.back + k);
      if (code == kNaN) encode_nans<F>(x, kMost, by, codes);
      if (kBits == 4) pack_nibbles(codes, kMost, to + k / 2);
      *scales++ = static_cast<std::uint8_t>(code);
    }
  });
}

}  // namespace

void encode_microscaling(const Row& row) {
  switch (row.recipe.format->element) {
    case DType::f4_e2m1: return encode<E2M1>(row);
    case DType::f6_e2m3: return encode<E2M3>(row);
    case DType::f6_e3m2: return encode<E3M2>(row);
    case DType::f8_e5m2: return encode<E5M2>(row);
    default: return encode<E4M3FN>(row);
  }
}

}  // namespace tern::quantize
