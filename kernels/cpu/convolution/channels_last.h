// A convolution node of floats whose image and result have their channels last.
#pragma once

#include <memory>
#include <optional>

#include "kernels/cpu/channels_last/winograd.h"
#include "kernels/kernel.h"

namespace tern::cpu {

/// As Kernel::channels_last: one and two dimensions; where there are matrix tiles, only if the call's way says so.
bool wants_channels_last(const KernelCall& call, const channels_last::Convolution& c);

class ChannelsLastConvolution {
 public:
  /// Null where the views lie otherwise.
  static std::unique_ptr<ChannelsLastConvolution> make(const KernelCall& call, const channels_last::Convolution& c);

  Way way() const { return way_; }
  /// The exported weight is not read.
  bool is_packed() const { return panels_ != nullptr; }
  /// As KernelState has it.
  bool asks_ahead() const { return !winograd_; }
  /// Bytes that `run` needs, aligned to 64.
  std::size_t scratch() const { return winograd_ ? winograd_->scratch() : 0; }
  /// With the epilogue.
  void run(const KernelCall& call, std::byte* scratch) const;

 private:
  Way way_ = Way::channels_last;
  channels_last::Convolution convolution_;
  std::optional<channels_last::Winograd> winograd_;
  const float* panels_ = nullptr;
  std::unique_ptr<pointwise::Epilogue> epilogue_;
};

}  // namespace tern::cpu
