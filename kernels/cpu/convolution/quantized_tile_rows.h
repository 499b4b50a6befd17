// A bfloat16 convolution by a quantized weight; image and result are channels last. Each run converts the weight to
// rounded and packed numbers, for tiles or vectors.
#pragma once

#include <memory>

#include "kernels/cpu/algorithms.h"
#include "kernels/cpu/channels_last/convolve.h"
#include "kernels/cpu/products/tiles/row_convolution_driver.h"

namespace tern::cpu {

class QuantizedTileRows : public PreparedAlgorithm {
 public:
  /// True if this kernel takes the call, in any view.
  static bool serves(const KernelCall& call, const channels_last::ChannelsLastShape& c);
  /// Returns null if `serves` is false or the views are not channels last.
  static std::unique_ptr<QuantizedTileRows> create(const KernelCall& call, const channels_last::ChannelsLastShape& c);

  void reserve(const KernelCall& call, ScratchArena& arena) const override;
  RemainingWork run(KernelCall& call, ScratchArena& arena, const pointwise::Epilogue* epilogue) const override;

 private:
  explicit QuantizedTileRows(const tiles::TileConvolutionShape& shape) : convolution_(shape) {}
  struct Room;

  tiles::RowConvolution convolution_;
  std::unique_ptr<pointwise::Epilogue> epilogue_;
  std::unique_ptr<PreparedAlgorithm> otherwise_;  ///< recomputes results that are not finite
};

}  // namespace tern::cpu
