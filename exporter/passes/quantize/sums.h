// Sums over numbers and what they become, which loops keep in registers.
#pragma once

#include <cstdint>

#include "exporter/passes/quantize/levels.h"
#include "exporter/passes/quantize/matrix.h"

namespace tern::quantize {

/// A loop over kLanes numbers adds each to a lane of its own; sums in float32, for a row of numbers.
struct Sums {
  static constexpr std::int64_t kLanes = 32;

  alignas(64) float xx[kLanes] = {}, yy[kLanes] = {}, noise[kLanes] = {};

  template <bool kFused>
  TERN_INLINE static float plus_square(float v, float sum) {
    return kFused ? __builtin_fmaf(v, v, sum) : v * v + sum;
  }

  template <bool kFused>
  TERN_INLINE void add(std::int64_t lane, float x, float y) {
    xx[lane] = plus_square<kFused>(x, xx[lane]);
    yy[lane] = plus_square<kFused>(y, yy[lane]);
    noise[lane] = plus_square<kFused>(x - y, noise[lane]);
  }

  TERN_INLINE static float total(float* lanes) {
    for (std::int64_t half = kLanes / 2; half > 0; half /= 2) {
      for (std::int64_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
    }
    return lanes[0];
  }

  TERN_INLINE void add_to(QuantizationError& e) {
    e.xx += static_cast<double>(total(xx));
    e.yy += static_cast<double>(total(yy));
    e.noise += static_cast<double>(total(noise));
  }
};

/// Calls f(begin, count) for parts of n numbers: with a constant count where a part is whole, which makes f's loop one
/// of whole registers.
template <class F>
TERN_INLINE void visit_lane_chunks(std::int64_t n, const F& f) {
  std::int64_t i = 0;
  for (; i + Sums::kLanes <= n; i += Sums::kLanes) f(i, Sums::kLanes);
  if (i < n) f(i, n - i);
}

}  // namespace tern::quantize
