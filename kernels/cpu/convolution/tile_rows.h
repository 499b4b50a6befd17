// A convolution node in bfloat16 on matrix tiles, of an image and result with their channels last.
#pragma once

#include <memory>

#include "kernels/cpu/algorithms.h"
#include "kernels/cpu/channels_last/convolve.h"
#include "kernels/cpu/products/tiles/row_convolution_driver.h"

namespace tern::cpu {

class TileRowsConvolution : public PreparedAlgorithm {
 public:
  /// Whether the call may be computed in bfloat16, here: then all images of a program had better lie so.
  static bool possible(const KernelCall& call);
  /// Whether tiles gain anything for this one.
  static bool suits(const KernelCall& call, const channels_last::Convolution& c);
  /// Whether it is taken, wherever views lie so: for a constant weight.
  static bool serves(const KernelCall& call, const channels_last::Convolution& c);
  /// Null where it is not.
  static std::unique_ptr<TileRowsConvolution> make(const KernelCall& call, const channels_last::Convolution& c);

  void reserve(const KernelCall& call, ScratchParts& parts) const override;
  Left run(KernelCall& call, ScratchParts& parts, const pointwise::Epilogue* epilogue) const override;

 private:
  explicit TileRowsConvolution(const tiles::ConvolutionShape& shape) : convolution_(shape) {}

  tiles::RowConvolution convolution_;
  std::shared_ptr<const std::byte> weight_;
  std::unique_ptr<pointwise::Epilogue> epilogue_;
  std::unique_ptr<PreparedAlgorithm> otherwise_;  ///< for results that are not finite
};

}  // namespace tern::cpu
