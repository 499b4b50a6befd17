// Inner loops over channels-last images, compiled once for each instruction set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "dtypes/levels.h"
#include "kernels/cpu/channels_last/winograd_loops.h"

namespace tern::channels_last {

/// `count` windows, `step` floats apart, with the same elements (`taps`: floats from the window's first) of `channels`
/// channels, at least `Loops::lanes`.
struct WindowRow {
  const float* x = nullptr;
  std::ptrdiff_t step = 0;
  const std::ptrdiff_t* taps = nullptr;
  std::ptrdiff_t tap_count = 0, channels = 0, count = 0;
  float* y = nullptr;
  std::ptrdiff_t y_step = 0;  ///< between results of neighbouring windows
  float low = -std::numeric_limits<float>::infinity(), high = std::numeric_limits<float>::infinity();
};

/// A strip of one or two result lines, at least `kWindows` windows each, one or two lines and positions apart. Windows
/// are squares of 3 or 5 elements, and at most a window's size less one line of an image lies outside; those of
/// Loops::wide_strip have any size and padding.
struct Strip {
  static constexpr std::ptrdiff_t kWindows = 7;
  const void* x = nullptr;                          ///< first position of the line where windows begin
  std::ptrdiff_t position = 0, line = 0;            ///< elements between positions and lines of x
  std::ptrdiff_t width = 0, padding_before = 0;     ///< line width; positions of a window before the line
  std::ptrdiff_t rows_begin = 0, rows_end = 0;      ///< lines under the windows and inside the image
  std::ptrdiff_t out = 0, lines = 1, channels = 0;  ///< channels: at least `Loops::lanes`
  std::ptrdiff_t group = 1;                         ///< input channels per output channel
  std::ptrdiff_t kernel_h = 0, kernel_w = 0;        ///< window sizes, for wide strips
  float* y = nullptr;
  std::ptrdiff_t y_position = 0, y_line = 0;
  const std::byte* ahead = nullptr;  ///< cache lines to prefetch
  std::ptrdiff_t ahead_lines = 0;
  float low = -std::numeric_limits<float>::infinity(), high = std::numeric_limits<float>::infinity();
};

/// Window elements are `step` floats apart in `weight`; the elements for the first channel of each group come first,
/// then those for the second.
using StripLoop = void (*)(const Strip& s, const float* weight, std::ptrdiff_t step, const float* bias);

struct Loops {
  int lanes = 1;
  int strip_lines = 1;  ///< most lines of a strip
  /// y[c] = bias[c] + the sum over taps t of weight[weight_taps[t] + c] * x[c], clamped to low and high
  void (*depthwise)(const WindowRow& w, const float* weight, const std::ptrdiff_t* weight_taps,
                    const float* bias) = nullptr;
  /// Computes the same sums in the same order. Indexed by [5 elements instead of 3][every second position]
  StripLoop strip[2][2] = {};
  /// The same for windows of other sizes. Indexed by [every second position]
  StripLoop wide_strip[2] = {};
  /// Loops for groups of 2, 4 or 8 channels with lane permutations.
  StripLoop group_strip[2][2] = {};
  /// Loops for bfloat16 x; null without bfloat16 instructions.
  StripLoop narrow_strip[2][2] = {};
  /// y[c] = max x[c]; NaN wins
  void (*max)(const WindowRow& w) = nullptr;
  /// y[i] = max(x[i], y[i]) for `count` elements
  void (*larger_unsigned)(std::uint8_t* y, const std::uint8_t* x, std::ptrdiff_t count) = nullptr;
  void (*larger_signed)(std::int8_t* y, const std::int8_t* x, std::ptrdiff_t count) = nullptr;
  WinogradLoops winograd;
};

/// Returns the loops for this processor.
const Loops& loops();

TERN_LEVEL_FUNCTIONS(vectors, set, Loops* loops)

}  // namespace tern::channels_last
