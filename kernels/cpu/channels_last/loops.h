// The innermost loops over images whose channels lie side by side, compiled once for each instruction set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "kernels/cpu/channels_last/winograd_loops.h"

namespace tern::channels_last {

/// `count` windows, `step` floats apart, each of the same elements (`taps`, floats behind its first) of `channels`
/// channels, at least `Loops::lanes`.
struct Windows {
  const float* x = nullptr;
  std::ptrdiff_t step = 0;
  const std::ptrdiff_t* taps = nullptr;
  std::ptrdiff_t tap_count = 0, channels = 0, count = 0;
  float* y = nullptr;
  std::ptrdiff_t y_step = 0;  ///< between results of neighbouring windows
  float low = -std::numeric_limits<float>::infinity(), high = std::numeric_limits<float>::infinity();
};

struct Loops {
  int lanes = 1;
  /// y[c] = bias[c] + the sum over taps t of weight[weight_taps[t] + c] * x[c], within low and high
  void (*depthwise)(const Windows& w, const float* weight, const std::ptrdiff_t* weight_taps,
                    const float* bias) = nullptr;
  /// y[c] = the largest x[c], or a NaN
  void (*max)(const Windows& w) = nullptr;
  WinogradLoops winograd;
};

/// The loops for this processor.
const Loops& loops();

void set_baseline(Loops* loops);
void set_avx2(Loops* loops);
void set_avx512(Loops* loops);

}  // namespace tern::channels_last
