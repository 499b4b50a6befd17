// Optimizer states of 8 bits: a code for each element and a float32 scale for each block of 256, as torchao's
// OptimState8bit has them (Dettmers et al., "8-bit Optimizers via Block-wise Quantization", 2022). An element is
// values[code] * scale; the scale is the block's largest magnitude, at least 1e-12.
#pragma once

#include <array>
#include <cstdint>

namespace tern {

/// The elements that share a scale.
inline constexpr std::int64_t kStateBlock = 256;
/// torchao's rule: a parameter with fewer elements, or with a last block that is not full, keeps states of floats.
inline constexpr std::int64_t kLeastCoded = 4096;
constexpr bool has_coded_states(std::int64_t elements) {
  return elements >= kLeastCoded && elements % kStateBlock == 0;
}
inline constexpr float kLeastStateScale = 1e-12F;

/// The numbers of one dynamic tree: seven decades below 1, of which each has twice as many numbers as the one before.
struct StateCodes {
  std::array<float, 256> values;  ///< of each code, ascending
  /// The code of x is how many bounds are at most x: the nearest value, the upper one of two. NaN has code 0. The last
  /// one is infinite.
  std::array<float, 256> bounds;
};
/// Signed trees are for moments and gradients, the others for squares and magnitudes.
const StateCodes& state_codes(bool is_signed);

/// How many bounds are at most x, which is not NaN.
std::uint8_t code_of(const StateCodes& codes, float x);

}  // namespace tern
