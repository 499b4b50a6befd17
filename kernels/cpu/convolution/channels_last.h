// A convolution node of floats whose image and result have their channels last.
#pragma once

#include <memory>
#include <optional>

#include "kernels/cpu/algorithms.h"
#include "kernels/cpu/channels_last/winograd.h"
#include "kernels/cpu/products/tiles/split_driver.h"

namespace tern::cpu {

/// Whether tiles are faster for all convolutions of a section, which compute so much for each element
/// (KernelCall::intensity).
bool tiles_gain(double intensity, const Machine& machine);

/// As Kernel::channels_last: one and two dimensions; where there are matrix tiles, if that is asked for, in bfloat16,
/// or if the call's intensity is low.
bool wants_channels_last(const KernelCall& call, const channels_last::Convolution& c);

/// Whether a depthwise convolution may round its image to bfloat16, and does, wherever views lie so.
bool rounds_depthwise(const KernelCall& call, const channels_last::Convolution& c);

class ChannelsLastConvolution : public PreparedAlgorithm {
 public:
  /// Null where the layout does not suit, or the views lie otherwise.
  static std::unique_ptr<ChannelsLastConvolution> make(const KernelCall& call, const channels_last::Convolution& c);
  /// The same for what a faster algorithm could not compute: whatever suits, and the weight as it is.
  static std::unique_ptr<ChannelsLastConvolution> otherwise(const KernelCall& call,
                                                            const channels_last::Convolution& c);

  void reserve(const KernelCall& call, ScratchParts& parts) const override;
  Left run(KernelCall& call, ScratchParts& parts, const pointwise::Epilogue* epilogue) const override;

 private:
  channels_last::Convolution convolution_;
  std::optional<channels_last::Winograd> winograd_;
  std::optional<tiles::Linear> tiles_;  ///< products of float32, for windows of one element
  const float* panels_ = nullptr;
  bool rounds_ = false;
  std::unique_ptr<pointwise::Epilogue> epilogue_;
};

}  // namespace tern::cpu
