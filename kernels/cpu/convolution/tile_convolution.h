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
  static std::unique_ptr<TileConvolution> create(const KernelCall& call, const tiles::TileConvolutionShape& shape,
                                                 bool packs = false);

  std::size_t scratch() const;
  /// True if only a failed `run` reads the exported weight.
  bool is_packed() const { return packed_ != nullptr; }
  /// Applies the epilogue, too. Returns false if another algorithm must compute the result.
  bool run(KernelCall& call, const pointwise::Epilogue* epilogue, std::byte* scratch) const;
  /// Restores the exported weight.
  void unpack(float* to) const;

 private:
  explicit TileConvolution(const tiles::TileConvolutionShape& shape) : convolution_(shape) {}
  tiles::SplitConvolution convolution_;
  std::shared_ptr<const float> packed_;
  bool packs_ = false;  ///< packs the weight in each run
};

}  // namespace tern::cpu
