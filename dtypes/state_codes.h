// Optimizer states of 8 bits: a code for each element and a float32 scale for each block of 256, in the format of
// torchao's OptimState8bit (Dettmers et al., "8-bit Optimizers via Block-wise Quantization", 2022). An element is
// values[code] * scale; the scale is the block's largest magnitude, at least 1e-12.
#pragma once

#include <array>
#include <cstdint>

namespace tern {

/// The elements sharing a scale.
inline constexpr std::int64_t kStateBlock = 256;
/// torchao's rule: a parameter with fewer elements, or with an incomplete last block, keeps states of floats.
inline constexpr std::int64_t kLeastCoded = 4096;
constexpr bool has_coded_states(std::int64_t elements) {
  return elements >= kLeastCoded && elements % kStateBlock == 0;
}
inline constexpr float kLeastStateScale = 1e-12F;

/// The numbers of a dynamic tree: seven decades below 1, each with twice as many numbers as the previous decade.
struct StateCodes {
  std::array<float, 256> values;  ///< value of each code, ascending
  /// The code of x is the number of bounds not above x: the nearest value, the upper of two. NaN has code 0. The last
  /// bound is infinite.
  std::array<float, 256> bounds;
};
/// Signed trees are for moments and gradients, the others for squares and magnitudes.
const StateCodes& state_codes(bool is_signed);

/// Number of bounds not above x; x is not NaN.
std::uint8_t code_of(const StateCodes& codes, float x);

}  // namespace tern
