// Convolutions in bfloat16 on matrix tiles, of images whose channels lie side by side. Each position is a row; a line
// of a kernel's elements, which lie side by side too, is one stretch of a row's sum. Lines are rounded into bands that
// stay in the second cache; nothing like im2col is made.
#pragma once

#include <vector>

#include "kernels/cpu/amx/convolve.h"
#include "kernels/cpu/amx/division.h"
#include "kernels/cpu/amx/row_band.h"

namespace tern::amx {

struct RowConvolutionOperands {
  Elements x;                         ///< [batch, height, width, groups * in]
  const std::byte* weight = nullptr;  ///< as `pack` wrote it
  const float* bias = nullptr;        ///< [groups * out], or null
  std::byte* y = nullptr;             ///< [batch, height, width, groups * out]
  bool narrow = false;                ///< y is bfloat16
  pointwise::Finish finish;           ///< for a call whose views have their channels last, too
};

class RowConvolution {
 public:
  explicit RowConvolution(const ConvolutionShape& shape);
  /// Whether products of rows gain anything for this shape, where they pay at all.
  static bool suits(const ConvolutionShape& shape);

  /// From and to a weight [groups * out, in, height, width].
  void pack(const float* weight, std::byte* to) const;
  void unpack(const std::byte* packed, float* to) const;
  std::int64_t packed_bytes() const { return shape_.groups * group_bytes(); }

  /// Bytes that `run` wants, 64-byte aligned.
  std::size_t scratch() const;
  /// On several threads. False when some result is not finite: then y is to be computed in another way.
  bool run(const RowConvolutionOperands& o, std::byte* scratch) const;

 private:
  /// Lines of results, of one image.
  struct Lines {
    std::int64_t image = 0, begin = 0, end = 0;
  };
  std::int64_t group_bytes() const { return packed_weight_bytes(shape_.out, band_.steps()); }
  std::int64_t image_floats() const;
  /// Rows that tiles compute for so many lines.
  std::int64_t rows_of(std::int64_t lines) const;
  /// Calls f(place in a row of the packed weight, place in a row of the exported one).
  template <class F>
  void for_each_element(F&& f) const;
  /// Tiles [tiles.begin, tiles.end) of rows of the band, by blocks of channels of all groups.
  bool multiply(const RowConvolutionOperands& o, const Lines& lines, Range tiles, Range blocks,
                const std::byte* band) const;

  ConvolutionShape shape_;
  RowBand band_;
  std::int64_t blocks_;  ///< of 32 channels of a group
  Division division_;
  bool shared_;                   ///< threads share a band, and divide its rows and channels
  bool alone_ = false;            ///< but each loads it for itself
  std::int64_t lines_at_a_time_;  ///< of a band
};

}  // namespace tern::amx
