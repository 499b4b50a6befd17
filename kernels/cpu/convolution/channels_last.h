// A float convolution node whose image and result are channels last.
#pragma once

#include <memory>
#include <optional>

#include "kernels/cpu/algorithms.h"
#include "kernels/cpu/channels_last/winograd.h"
#include "kernels/cpu/products/tiles/split_driver.h"

namespace tern::cpu {

/// True if tiles are faster for all convolutions of a section with this intensity (KernelCall::intensity: work per
/// element).
bool tiles_gain(double intensity, const Machine& machine);

/// Decides Kernel::channels_last. On machines with matrix tiles, requires an explicit
/// request, bfloat16 or low intensity.
bool wants_channels_last(const KernelCall& call, const channels_last::ChannelsLastShape& c);

/// True if a depthwise convolution may round its image to bfloat16 and the kernel does so for channels-last views.
bool rounds_depthwise(const KernelCall& call, const channels_last::ChannelsLastShape& c);

class ChannelsLastConvolution : public PreparedAlgorithm {
 public:
  /// Returns null if the layout does not suit or the views are not channels last.
  static std::unique_ptr<ChannelsLastConvolution> create(const KernelCall& call,
                                                         const channels_last::ChannelsLastShape& c);
  /// Makes the fallback for faster algorithms: accepts every suitable view, leaves the weight as exported.
  static std::unique_ptr<ChannelsLastConvolution> otherwise(const KernelCall& call,
                                                            const channels_last::ChannelsLastShape& c);

  void reserve(const KernelCall& call, ScratchArena& arena) const override;
  RemainingWork run(KernelCall& call, ScratchArena& arena, const pointwise::Epilogue* epilogue) const override;

 private:
  channels_last::ChannelsLastShape convolution_;
  std::optional<channels_last::Winograd> winograd_;
  std::optional<tiles::SplitLinear> tiles_;  ///< products of float32, for windows of one element
  std::shared_ptr<const float> panels_;
  bool rounds_ = false;
  std::unique_ptr<pointwise::Epilogue> epilogue_;
};

}  // namespace tern::cpu
