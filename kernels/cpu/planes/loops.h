// Inner loops of convolutions and pools over padded planes, compiled once for each instruction set.
#pragma once

#include <cstdint>

#include "dtypes/levels.h"

namespace tern::planes {

/// Layout of a padded plane, or a band of its rows, in a buffer. Each remainder of the strides ("phase") is stored
/// separately, so neighbouring windows read adjacent elements. Row i of phase (ph, pw) holds at j the padded plane's
/// element (i * stride_h + ph, j * stride_w + pw). Rows of a phase lie `pitch` apart, possibly less than `reach`: the
/// padding after a row is then also the padding before the next.
struct PaddedPlaneLayout {
  std::int64_t input_height = 0, input_width = 0, padding_top = 0, padding_left = 0, stride_h = 1, stride_w = 1;
  std::int64_t phases_h = 1, phases_w = 1;  ///< phases read by windows
  std::int64_t rows = 0;                    ///< rows of a phase in a band
  std::int64_t reach = 0;                   ///< elements of a row read by windows
  std::int64_t pitch = 0, phase = 0;        ///< floats
  bool is_whole_plane = false;              ///< every band is a whole plane: padding is filled once
};

/// Most channels per call.
constexpr int kMostChannels = 8;
/// Taps of a depthwise kernel in the same column of consecutive rows.
struct ColumnTaps {
  std::int64_t offset = 0;                   ///< first tap in the padded planes
  std::int64_t count = 0;                    ///< taps, `pitch` apart; at most kMostRows
  std::int64_t weight = 0, weight_step = 0;  ///< first weight, and distance between weights
};
constexpr std::int64_t kMostRows = 7;

/// Most vectors of positions per call.
constexpr int kMostTogether = 8;
/// Floats readable and writable after a buffer of planes and after each result line.
constexpr std::int64_t kSlack = 16;

struct PlaneLoops {
  int channels = 1;  ///< best number of channels per call of `convolve`

  /// Copies the rows of a band of plane x into `to`, whose padding beside the rows is filled already; band 0 begins at
  /// padded row 0. Rows above and below the plane become `fill` unless the band is the whole plane.
  void (*load)(const PaddedPlaneLayout& l, const float* x, std::int64_t first_padded_row, float fill, float* to);
  /// Copies `rows` rows of `width` elements, `pitch` apart, to contiguous rows of y.
  void (*store)(const float* from, std::int64_t pitch, std::int64_t width, std::int64_t rows, float* y);

  /// to[c * ld + q] = bias[c] + the sum over t of weight[c * weight_row + t] * planes[taps[t] + q], for q < n. The bias
  /// may be null.
  void (*convolve)(const float* planes, const std::int64_t* taps, std::int64_t tap_count, const float* weight,
                   std::int64_t weight_row, const float* bias, int channels, std::int64_t n, float* to,
                   std::int64_t ld);
  /// Convolves a single plane and channel, with `width` positions in each of `rows` rows, into contiguous rows of y:
  /// each loaded vector serves several rows.
  void (*depthwise)(const float* plane, std::int64_t pitch, const ColumnTaps* taps, std::int64_t tap_count,
                    const float* weight, float bias, std::int64_t rows, std::int64_t width, float* y);
  /// to[q] = max over t of planes[taps[t] + q]; NaN wins. Keeps the first of equal elements.
  void (*max)(const float* planes, const std::int64_t* taps, std::int64_t tap_count, std::int64_t n, float* to);
  void (*add)(const float* planes, const std::int64_t* taps, std::int64_t tap_count, std::int64_t n, float* to);
  /// y[i] /= number * counts[i]
  void (*divide)(float* y, float number, const float* counts, std::int64_t n);

  /// y[p] = the sum of the n contiguous elements of plane p.
  void (*sums)(const float* x, std::int64_t planes, std::int64_t n, float* y);
  /// y[i] = bias[i] + the sum over k of weight[i * columns + k] * x[k]; the bias may be null.
  void (*matvec)(const float* weight, std::int64_t rows, std::int64_t columns, const float* x, const float* bias,
                 float* y);
};

/// Returns the loops for this processor.
const PlaneLoops& plane_loops();

TERN_LEVEL_FUNCTIONS(vectors, set, PlaneLoops* loops)

}  // namespace tern::planes
