// Convolutions of images of 8-bit integers whose channels lie side by side, as tiles::RowConvolution does those of
// bfloat16: each position is a row, and a line of a kernel's elements one stretch of a row's sum.
#pragma once

#include "kernels/cpu/products/int8/weight_pack.h"
#include "kernels/cpu/products/tiles/row_convolution_driver.h"

namespace tern::int8 {

struct ConvolutionShape {
  tiles::TileConvolutionShape sizes;
  Signs signs;
  int fill = 0;  ///< the byte of padding
};

struct Int8ConvolutionOperands {
  const std::byte* x = nullptr;        ///< [batch, height, width, groups * in]
  const std::byte* weight = nullptr;   ///< packed by `pack`
  const std::int32_t* bias = nullptr;  ///< [groups * out], or null
  std::byte* y = nullptr;              ///< [batch, height, width, groups * out]
  bool stores_sums = false;            ///< y is int32; otherwise float32
  pointwise::BoundEpilogue finish;     ///< belongs to a call whose views have their channels last, too
};

class Int8Convolution {
 public:
  Int8Convolution(const ConvolutionShape& shape, const Method& method);

  /// Packs a weight [groups * out, in, height, width].
  void pack(const std::byte* weight, std::byte* to) const;
  /// Bytes of the packed weight, and of the sum of each channel out.
  std::int64_t packed_bytes() const;
  /// Bytes that `run` wants, 64-byte aligned.
  std::size_t scratch() const;
  /// Runs on several threads.
  void run(const Int8ConvolutionOperands& o, std::byte* scratch) const;

 private:
  bool flips() const { return method_->flips(signs_); }
  std::int64_t channels() const { return loop_.shape().groups * loop_.shape().out; }

  Signs signs_;
  const Method* method_;
  tiles::RowConvolutionLoop loop_;
  PackedInt8Weight weight_;  ///< the weight of a group
};

}  // namespace tern::int8
