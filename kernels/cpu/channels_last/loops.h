// The innermost loops over images whose channels lie side by side, compiled once for each instruction set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "dtypes/levels.h"
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

/// One or two lines of results, of at least `kWindows` windows each, whose windows are squares of 3 or 5 elements,
/// one or two lines and positions apart; at most a window's size less one of an image's line lie beside it.
struct Strip {
  static constexpr std::ptrdiff_t kWindows = 7;
  const void* x = nullptr;                          ///< the first position of the line that windows begin in
  std::ptrdiff_t position = 0, line = 0;            ///< elements between positions and lines of x
  std::ptrdiff_t width = 0, before = 0;             ///< positions of a line, and of a window in front of the first one
  std::ptrdiff_t rows_begin = 0, rows_end = 0;      ///< of the lines that windows reach over, those inside the image
  std::ptrdiff_t out = 0, lines = 1, channels = 0;  ///< channels: at least `Loops::lanes`
  std::ptrdiff_t group = 1;                         ///< channels that are multiplied with each other
  float* y = nullptr;
  std::ptrdiff_t y_position = 0, y_line = 0;
  const std::byte* ahead = nullptr;  ///< lines of the cache that are asked for on the way
  std::ptrdiff_t ahead_lines = 0;
  float low = -std::numeric_limits<float>::infinity(), high = std::numeric_limits<float>::infinity();
};

/// Elements of a window are `step` floats apart in `weight`; behind those for the first channel of each group are those
/// for the second.
using StripLoop = void (*)(const Strip& s, const float* weight, std::ptrdiff_t step, const float* bias);

struct Loops {
  int lanes = 1;
  int strip_lines = 1;  ///< the most lines of a strip
  /// y[c] = bias[c] + the sum over taps t of weight[weight_taps[t] + c] * x[c], within low and high
  void (*depthwise)(const Windows& w, const float* weight, const std::ptrdiff_t* weight_taps,
                    const float* bias) = nullptr;
  /// The same sums, in the same order. By [5 elements in place of 3][every second position]
  StripLoop strip[2][2] = {};
  /// The same for groups of 2, 4 or 8 channels, where registers put lanes in another order.
  StripLoop group_strip[2][2] = {};
  /// Of an x of bfloat16; null where no processor has instructions for products of it.
  StripLoop narrow_strip[2][2] = {};
  /// y[c] = the largest x[c], or a NaN
  void (*max)(const Windows& w) = nullptr;
  /// y[i] = the larger of x[i] and y[i], `count` of them
  void (*larger_unsigned)(std::uint8_t* y, const std::uint8_t* x, std::ptrdiff_t count) = nullptr;
  void (*larger_signed)(std::int8_t* y, const std::int8_t* x, std::ptrdiff_t count) = nullptr;
  WinogradLoops winograd;
};

/// The loops for this processor.
const Loops& loops();

TERN_LEVEL_FUNCTIONS(vectors, set, Loops* loops)

}  // namespace tern::channels_last
