// A bfloat16 convolution node on matrix tiles; image and result are channels last.
#pragma once

#include <memory>

#include "kernels/cpu/algorithms.h"
#include "kernels/cpu/channels_last/convolve.h"
#include "kernels/cpu/products/tiles/row_convolution_driver.h"

namespace tern::cpu {

class TileRowsConvolution : public PreparedAlgorithm {
 public:
  /// True if the call may be computed in bfloat16 on this machine: then channels last suits all images of a program.
  static bool possible(const KernelCall& call);
  /// True if tiles gain anything for this convolution.
  static bool suits(const KernelCall& call, const channels_last::ChannelsLastShape& c);
  /// True if this kernel takes the call, in any view. Requires a constant weight.
  static bool serves(const KernelCall& call, const channels_last::ChannelsLastShape& c);
  /// Returns null if `serves` is false or the views are not channels last.
  static std::unique_ptr<TileRowsConvolution> create(const KernelCall& call, const channels_last::ChannelsLastShape& c);

  void reserve(const KernelCall& call, ScratchArena& arena) const override;
  RemainingWork run(KernelCall& call, ScratchArena& arena, const pointwise::Epilogue* epilogue) const override;

 private:
  explicit TileRowsConvolution(const tiles::TileConvolutionShape& shape) : convolution_(shape) {}

  tiles::RowConvolution convolution_;
  std::shared_ptr<const std::byte> weight_;
  std::unique_ptr<pointwise::Epilogue> epilogue_;
  std::unique_ptr<PreparedAlgorithm> otherwise_;  ///< recomputes results that are not finite
};

}  // namespace tern::cpu
