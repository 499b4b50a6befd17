// A convolution in bfloat16 by a quantized weight, of an image and result with their channels last: tiles or vectors
// read the numbers of the weight, rounded and in their order, which each run makes of it.
#pragma once

#include <memory>

#include "kernels/cpu/algorithms.h"
#include "kernels/cpu/channels_last/convolve.h"
#include "kernels/cpu/products/tiles/row_convolution_driver.h"

namespace tern::cpu {

class QuantizedTileRows : public PreparedAlgorithm {
 public:
  /// Whether it is taken, wherever views lie so.
  static bool serves(const KernelCall& call, const channels_last::Convolution& c);
  /// Null where it is not.
  static std::unique_ptr<QuantizedTileRows> make(const KernelCall& call, const channels_last::Convolution& c);

  void reserve(const KernelCall& call, ScratchParts& parts) const override;
  Left run(KernelCall& call, ScratchParts& parts, const pointwise::Epilogue* epilogue) const override;

 private:
  explicit QuantizedTileRows(const tiles::ConvolutionShape& shape) : convolution_(shape) {}
  struct Room;

  tiles::RowConvolution convolution_;
  std::unique_ptr<pointwise::Epilogue> epilogue_;
  std::unique_ptr<PreparedAlgorithm> otherwise_;  ///< for results that are not finite
};

}  // namespace tern::cpu
