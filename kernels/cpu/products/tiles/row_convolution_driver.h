// Convolutions in bfloat16 on matrix tiles, of images whose channels lie side by side. Each position is a row; a line
// of a kernel's elements, which lie side by side too, is one stretch of a row's sum. Lines are rounded into bands that
// stay in the second cache; nothing like im2col is made.
#pragma once

#include <functional>
#include <vector>

#include "kernels/cpu/products/division.h"
#include "kernels/cpu/products/tiles/row_band.h"
#include "kernels/cpu/products/tiles/split_convolution_driver.h"

namespace tern::tiles {

struct RowConvolutionOperands {
  Elements x;                         ///< [batch, height, width, groups * in]
  const std::byte* weight = nullptr;  ///< packed by `pack`
  const float* bias = nullptr;        ///< [groups * out], or null
  std::byte* y = nullptr;             ///< [batch, height, width, groups * out]
  bool narrow = false;                ///< y is bfloat16
  pointwise::BoundEpilogue finish;    ///< belongs to a call whose views have their channels last, too
};

/// The convolution of rows of any format: threads divide lines and channels, and multiply bands.
class RowConvolutionLoop {
 public:
  RowConvolutionLoop(const TileConvolutionShape& shape, const RowFormat& format);

  const RowBand& band() const { return band_; }
  const TileConvolutionShape& shape() const { return shape_; }
  /// Steps of a row's sum.
  std::int64_t steps() const { return band_.steps(); }
  std::int64_t blocks() const { return blocks_; }
  std::int64_t packed_bytes() const { return shape_.groups * group_bytes(); }
  std::int64_t group_bytes() const { return packed_weight_bytes(shape_.out, band_.steps()); }
  /// Calls f(place in a row of the packed weight, place in a row of the exported one).
  template <class F>
  void for_each_element(F&& f) const {
    const std::int64_t width = shape_.window[2].kernel, taps = shape_.window[1].kernel * width;
    std::int64_t place = 0;
    for (const Stretch& s : band_.stretches()) {
      for (std::int64_t i = 0; i < s.size; ++i)
        f(place + i, i % shape_.in * taps + s.line * width + s.column + i / shape_.in);
      place += format_.steps(s.size) * format_.step();
    }
  }

  /// Bytes that `run` wants, 64-byte aligned.
  std::size_t scratch() const;
  /// Multiplies rows by blocks [blocks.begin, blocks.end) of a group's part of the packed weight. False where a result
  /// is not finite.
  using Multiply =
      std::function<bool(const TileRows& rows, const std::byte* weight, IndexRange blocks, const RowResults&)>;
  /// Runs on several threads. `in_place`: the image lies as a band has it. `results` says where results go and what
  /// becomes of them; rows and columns are set here.
  bool run(const RowImage& image, bool in_place, const std::byte* weight, const RowResults& results,
           const Multiply& multiply, std::byte* scratch) const;

 private:
  /// Lines of results, of one image.
  struct Lines {
    std::int64_t image = 0, begin = 0, end = 0;
  };
  /// The operands of a run, for all threads.
  struct Run {
    const std::byte* weight;
    const RowResults& results;
    const Multiply& multiply;
  };
  std::int64_t image_elements() const;
  /// Rows that are computed for so many lines.
  std::int64_t rows_of(std::int64_t lines) const;
  /// Tiles [tiles.begin, tiles.end) of rows of the band, by blocks of channels of all groups.
  bool multiply(const Run& run, const Lines& lines, IndexRange tiles, IndexRange blocks, const std::byte* band) const;

  TileConvolutionShape shape_;
  RowFormat format_;
  RowBand band_;
  std::int64_t blocks_;  ///< blocks of 32 channels of a group
  Division division_;
  bool shared_;                   ///< threads share a band, and divide its rows and channels
  bool alone_ = false;            ///< but each loads it for itself
  std::int64_t lines_at_a_time_;  ///< lines of a band
};

class RowConvolution {
 public:
  explicit RowConvolution(const TileConvolutionShape& shape) : loop_(shape, RowFormat::bfloat16()) {}
  /// True if products of rows gain anything for this shape, where they pay at all.
  static bool suits(const TileConvolutionShape& shape);

  /// Writes a row of the exported weight.
  using WriteRow = std::function<void(std::int64_t row, float* to)>;
  void pack(const WriteRow& weight, std::byte* to) const;
  /// Convert from and to a weight [groups * out, in, height, width].
  void pack(const float* weight, std::byte* to) const;
  void unpack(const std::byte* packed, float* to) const;
  std::int64_t packed_bytes() const { return loop_.packed_bytes(); }

  /// Bytes that `run` wants, 64-byte aligned.
  std::size_t scratch() const { return loop_.scratch(); }
  /// Runs on several threads. False when some result is not finite: then y is to be computed in another way.
  bool run(const RowConvolutionOperands& o, std::byte* scratch) const;

 private:
  RowConvolutionLoop loop_;
};

}  // namespace tern::tiles
