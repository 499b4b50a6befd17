// Numbers as whole numbers of three bytes times a power of two, on aarch64.
#pragma once

#include <arm_neon.h>

#include <algorithm>
#include <bit>
#include <cstdint>

namespace tern::block_quantized {
namespace {  // files of other instruction sets have their own

constexpr std::uint32_t kExponentBits = 0x7f80'0000,
                        kFractionBits = 21;  // x below 2^(e + 1): a whole number below 2^22

/// The largest exponent of numbers.
class SharedExponent {
 public:
  void add(float32x4_t v) {
    const uint32x4_t bits = vreinterpretq_u32_f32(v);
    nonzero_bits_ = vorrq_u32(nonzero_bits_, vshlq_n_u32(bits, 1));
    exponent_ = vmaxq_u32(exponent_, vandq_u32(bits, vdupq_n_u32(kExponentBits)));
  }
  /// Stores it in its place in a float, and at least `least`. Returns false if a number is not finite, or if all are
  /// below `least` and not all zero.
  bool find(std::uint32_t least, std::uint32_t& exponent) const {
    exponent = vmaxvq_u32(exponent_);
    if (exponent == kExponentBits || (exponent < least && vmaxvq_u32(nonzero_bits_) != 0)) return false;
    exponent = std::max(exponent, least);
    return true;
  }

 private:
  uint32x4_t nonzero_bits_ = vdupq_n_u32(0), exponent_ = vdupq_n_u32(0);
};

/// The value of a one, and its inverse.
inline float unit_of(std::uint32_t exponent) {
  return std::bit_cast<float>(exponent - (kFractionBits << 23));
}
inline float factor_of(std::uint32_t exponent) {
  return std::bit_cast<float>(((2 * 127 + kFractionBits) << 23) - exponent);
}

/// The three digits, the highest first, of sixteen whole numbers.
struct DigitBytes {
  int8x16_t values[3];

  explicit DigitBytes(const int32x4_t (&whole)[4]) {
    // Adding 128 to each digit leaves none below zero; flipping its highest bit subtracts 128 again.
    const uint32x4_t places = vdupq_n_u32(0x808080);
    uint8x16x4_t all;
    for (int i = 0; i < 4; ++i)
      all.val[i] = vreinterpretq_u8_u32(veorq_u32(vaddq_u32(vreinterpretq_u32_s32(whole[i]), places), places));
    static constexpr std::uint8_t kHighest[16] = {2, 6, 10, 14, 18, 22, 26, 30, 34, 38, 42, 46, 50, 54, 58, 62};
    const uint8x16_t from = vld1q_u8(kHighest);
    for (int d = 0; d < 3; ++d)
      values[d] = vreinterpretq_s8_u8(vqtbl4q_u8(all, vsubq_u8(from, vdupq_n_u8(static_cast<std::uint8_t>(d)))));
  }
};

}  // namespace
}  // namespace tern::block_quantized
