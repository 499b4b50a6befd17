// The innermost loops of convolutions and pools over padded planes, compiled once for each instruction set.
#pragma once

#include <cstdint>

#include "dtypes/levels.h"

namespace tern::planes {

/// How one plane, or a band of its rows, lies in a buffer: with its padding, and for each of the strides' remainders
/// ("phases") on its own, so that what neighbouring windows read lies side by side. Row i of phase (ph, pw) holds at j
/// the padded plane's element (i * stride_h + ph, j * stride_w + pw). The rows of a phase lie `pitch` apart, which may
/// be less than `reach`: the padding behind one row is then also that before the next.
struct Layout {
  std::int64_t in_h = 0, in_w = 0, before_h = 0, before_w = 0, stride_h = 1, stride_w = 1;
  std::int64_t phases_h = 1, phases_w = 1;  ///< those that windows read
  std::int64_t rows = 0;                    ///< of a phase, in a band
  std::int64_t reach = 0;                   ///< elements of a row that windows read
  std::int64_t pitch = 0, phase = 0;        ///< floats
  bool whole = false;                       ///< every band is a whole plane: what is filled once stays so
};

/// Channels that one call makes, at most.
constexpr int kMostChannels = 8;
/// Taps of a depthwise kernel that read the same column of rows below each other.
struct ColumnTaps {
  std::int64_t at = 0;                       ///< of the first in the padded planes
  std::int64_t count = 0;                    ///< each `pitch` behind the one before; at most kMostRows
  std::int64_t weight = 0, weight_step = 0;  ///< of the first, and between them
};
constexpr std::int64_t kMostRows = 7;

/// Registers of positions that one call makes at a time, at most.
constexpr int kMostTogether = 8;
/// Floats behind a buffer of planes and behind each line of results that may be read or written.
constexpr std::int64_t kSlack = 16;

struct PlaneLoops {
  int channels = 1;  ///< that one call of `convolve` makes at best

  /// Copies the rows of a band of plane x into `to`, whose padding beside the rows has been filled already; band 0
  /// begins at padded row 0. Rows above and below the plane become `fill`, but if the band is the whole plane.
  void (*load)(const Layout& l, const float* x, std::int64_t first_padded_row, float fill, float* to);
  /// Takes `rows` rows of `width` elements, `pitch` apart, to y, where they follow each other.
  void (*store)(const float* from, std::int64_t pitch, std::int64_t width, std::int64_t rows, float* y);

  /// to[c * ld + q] = bias[c] + the sum over t of weight[c * weight_row + t] * planes[taps[t] + q], for q below n. The
  /// bias may be null.
  void (*convolve)(const float* planes, const std::int64_t* taps, std::int64_t tap_count, const float* weight,
                   std::int64_t weight_row, const float* bias, int channels, std::int64_t n, float* to,
                   std::int64_t ld);
  /// The same for one plane and one channel, with `width` positions in each of `rows` rows, straight to y, where rows
  /// follow each other: what is loaded serves several rows.
  void (*depthwise)(const float* plane, std::int64_t pitch, const ColumnTaps* taps, std::int64_t tap_count,
                    const float* weight, float bias, std::int64_t rows, std::int64_t width, float* y);
  /// to[q] = the largest, or a NaN, of planes[taps[t] + q]; the first of several that are equal.
  void (*max)(const float* planes, const std::int64_t* taps, std::int64_t tap_count, std::int64_t n, float* to);
  void (*add)(const float* planes, const std::int64_t* taps, std::int64_t tap_count, std::int64_t n, float* to);
  /// y[i] /= number * counts[i]
  void (*divide)(float* y, float number, const float* counts, std::int64_t n);

  /// y[p] = the sum of n elements of plane p, which follow each other.
  void (*sums)(const float* x, std::int64_t planes, std::int64_t n, float* y);
  /// y[i] = bias[i] + the sum over k of weight[i * columns + k] * x[k]; the bias may be null.
  void (*matvec)(const float* weight, std::int64_t rows, std::int64_t columns, const float* x, const float* bias,
                 float* y);
};

/// The loops for this processor.
const PlaneLoops& plane_loops();

TERN_LEVEL_FUNCTIONS(vectors, set, PlaneLoops* loops)

}  // namespace tern::planes
