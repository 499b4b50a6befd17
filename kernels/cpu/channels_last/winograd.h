// Convolutions of three by three elements with fewer multiplications: four by four results are sums over channels of 36
// products instead of 144 (Winograd 1980; Lavin and Gray, Fast Algorithms for Convolutional Neural Networks, 2016).
// Each element of transformed tiles is a matrix product: tiles by input channels, input channels by output channels.
// A volume is the images of its depths; the slices of a deeper kernel are further input channels.
#pragma once

#include <cstddef>

#include "kernels/cpu/channels_last/convolve.h"

namespace tern::channels_last {

class Winograd {
 public:
  /// True for a kernel of 3x3 elements, or some such slices, without strides and dilation in the planes and with enough
  /// channels to fill vectors.
  static bool possible(const ChannelsLastShape& c);
  /// Returns false with `TERN_WINOGRAD=0` in the environment.
  static bool allowed();
  /// True if allowed and probably faster than `convolve`.
  static bool suits(const ChannelsLastShape& c);
  /// Multiply-adds that take as long, transforms included.
  static double cost(const ChannelsLastShape& c);
  explicit Winograd(const ChannelsLastShape& c);

  /// Returns the scratch bytes for `run`, aligned to 64.
  std::size_t scratch() const;
  /// Like `convolve`. Returns false if a sum is not finite: an infinity or NaN spreads over its tile, so the caller
  /// must compute all results again with `convolve`.
  bool run(const ChannelsLastOperands& at, const pointwise::BoundEpilogue& finish, std::byte* scratch) const;

 private:
  ChannelsLastShape c_;
};

}  // namespace tern::channels_last
