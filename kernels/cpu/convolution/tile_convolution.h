// A convolution node on matrix tiles.
#pragma once

#include <memory>

#include "kernels/cpu/products/tiles/split_convolution_driver.h"
#include "kernels/kernel.h"

namespace tern::cpu {

class TileConvolution {
 public:
  /// Null where tiles are not there or gain nothing. A constant weight with a larger kernel is put in order; another
  /// one in each run, if `packs`.
  static std::unique_ptr<TileConvolution> make(const KernelCall& call, const tiles::ConvolutionShape& shape,
                                               bool packs = false);

  std::size_t scratch() const;
  /// The exported weight is not read, unless `run` fails.
  bool is_packed() const { return packed_ != nullptr; }
  /// With the epilogue. False when the result is to be computed in another way.
  bool run(KernelCall& call, const pointwise::Epilogue* epilogue, std::byte* scratch) const;
  /// The weight as exported.
  void unpack(float* to) const;

 private:
  explicit TileConvolution(const tiles::ConvolutionShape& shape) : convolution_(shape) {}
  tiles::Convolution convolution_;
  std::shared_ptr<const float> packed_;
  bool packs_ = false;  ///< in each run
};

}  // namespace tern::cpu
