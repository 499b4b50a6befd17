// Convolutions on matrix tiles: the image is split once into planes of channel pairs with zeros around it, and every
// element of the kernel multiplies the same planes, shifted. Nothing like im2col is made.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/cpu/pointwise/finish.h"
#include "kernels/cpu/products/tiles/phases.h"
#include "kernels/cpu/products/tiles/split_microkernel.h"
#include "kernels/cpu/windows/window.h"

namespace tern::tiles {

struct TileConvolutionShape {
  cpu::Window window;                                   ///< the first axis has size 1 and a kernel of 1
  std::int64_t batch = 1, groups = 1, in = 0, out = 0;  ///< channels of a group
  int parts = kAllParts;
};

struct SplitConvolutionOperands {
  const float* x = nullptr;       ///< [batch, groups * in, height, width]
  const float* weight = nullptr;  ///< packed by `pack`, or as exported where `reads_in_place`
  const float* bias = nullptr;    ///< [groups * out], or null
  float* y = nullptr;
  pointwise::BoundEpilogue finish;
};

class SplitConvolution {
 public:
  explicit SplitConvolution(const TileConvolutionShape& shape);
  /// True if tiles gain anything for this shape, here.
  static bool suits(const TileConvolutionShape& shape);

  /// Kernels of one element need no other order of weights.
  bool reads_in_place() const { return taps_ == 1; }
  /// Floats of a packed weight: [groups, out / 32, in / 32, kernel, 32, 32], filled up with zeros.
  std::int64_t packed_size() const { return shape_.groups * blocks_ * kBlock * left_k(); }
  void pack(const float* weight, float* to) const;
  void unpack(const float* packed, float* to) const;

  /// Bytes of scratch memory: none, since each thread splits what it reads.
  std::size_t scratch() const { return 0; }
  /// Runs on several threads. False when some result is not finite: then y is to be computed in another way.
  bool run(const SplitConvolutionOperands& o, std::byte* scratch) const;

 private:
  /// Lines of the result that are made together.
  struct Band {
    std::int64_t begin = 0, end = 0;
  };
  std::int64_t left_k() const;
  /// The weight of a group: as exported where `reads_in_place`, else packed.
  LeftOperand lhs_operand(const float* weight, std::int64_t group) const;
  std::int64_t packed_at(std::int64_t row, std::int64_t channel, std::int64_t tap) const;
  std::int64_t plane(Band band) const;  ///< pairs of one plane of the split image
  std::int64_t lines() const { return shape_.window[1].out; }
  std::int64_t lines_of(std::int64_t bands) const {
    return (lines() + bands - 1) / bands;
  }  ///< lines of the largest band
  Band band_at(std::int64_t i) const { return {i * lines() / bands_, (i + 1) * lines() / bands_}; }
  double cost(std::int64_t bands, std::int64_t threads) const;
  std::int64_t bands_for(std::int64_t threads) const;
  std::int64_t planes() const;  ///< planes of 16 pairs of channels, all parts and phases
  std::int64_t bytes(Band band) const;
  void split_image(const float* x, Band band, std::byte* to) const;
  class BandProduct;

  TileConvolutionShape shape_;
  Phases height_, width_;
  std::int64_t taps_ = 1, chunks_ = 1, blocks_ = 1, pitch_ = 0, bands_ = 1;
};

}  // namespace tern::tiles
