// Search of the scale with the least squared error: candidate scales side by side, one for each lane.
#pragma once

#include <cstdint>

#include "exporter/passes/quantize/block_loops.h"

namespace tern::quantize {

/// Candidate scales of a block. Each sum has one lane for a candidate, and adds the numbers in order: all levels have
/// the same sums.
template <std::int64_t kLanes = 16>
struct ScaleCandidates {
  static constexpr std::int64_t kCount = kLanes;

  alignas(64) float by[kCount];            ///< reciprocals of the scales
  alignas(64) float dots[kCount] = {};     ///< sums of importance * number * element
  alignas(64) float squares[kCount] = {};  ///< sums of importance * element^2

  /// Adds up n numbers. `round(v)`: the element nearest to v.
  template <class Round>
  TERN_INLINE void add(const std::uint32_t* __restrict x, const float* __restrict importance, std::int64_t n,
                       const Round& round) {
    alignas(64) float factors[kCount], dot[kCount] = {}, square[kCount] = {};
    for (std::int64_t c = 0; c < kCount; ++c) factors[c] = by[c];
    for (std::int64_t i = 0; i < n; ++i) {
      const float number = value_of(x[i]), weight = importance[i], weighted = weight * number;
#pragma GCC unroll 1
      for (std::int64_t c = 0; c < kCount; ++c) {
        const float element = round(number * factors[c]);
        dot[c] = dot[c] + weighted * element;
        square[c] = square[c] + weight * (element * element);
      }
    }
    for (std::int64_t c = 0; c < kCount; ++c) {
      dots[c] = dot[c];
      squares[c] = square[c];
    }
  }

  /// The scale of least squares beside the best candidate's elements, or 0 if all elements are zero.
  TERN_INLINE float least_squares() const {
    std::int64_t best_index = 0;
    float largest = 0;
    for (std::int64_t c = 0; c < kCount; ++c) {
      const float gain = squares[c] > 0 ? dots[c] * (dots[c] / squares[c]) : 0.0F;
      best_index = gain > largest ? c : best_index;
      largest = gain > largest ? gain : largest;
    }
    return largest > 0 ? dots[best_index] / squares[best_index] : 0.0F;
  }

  /// The candidate with the least error beside its own scale.
  TERN_INLINE std::int64_t best_candidate(const float* scales) const {
    std::int64_t best_index = 0;
    float largest = 0;
    for (std::int64_t c = 0; c < kCount; ++c) {
      const float gain = scales[c] * (2 * dots[c] - scales[c] * squares[c]);
      best_index = gain > largest ? c : best_index;
      largest = gain > largest ? gain : largest;
    }
    return best_index;
  }
};

/// Rounds to the numbers of F up to `upper`, its largest.
template <class F>
TERN_INLINE auto round_to(float upper) {
  return [upper](float v) __attribute__((always_inline)) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(v);
    float magnitude = clamp_magnitude(std::bit_cast<float>(bits & kMagnitude), upper);
    round_magnitude<F>(magnitude);
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | (bits & ~kMagnitude));
  };
}

/// True if squares of numbers with this largest magnitude neither overflow nor underflow.
TERN_INLINE bool is_searchable(float largest) {
  return largest > 0x1p-30F && largest < 0x1p30F;
}

}  // namespace tern::quantize
