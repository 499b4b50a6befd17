// Convolutions of three by three elements with fewer multiplications: four by four results are sums over channels of 36
// products where plain ones take 144 (Winograd 1980; Lavin and Gray, Fast Algorithms for Convolutional Neural Networks,
// 2016). Each element of transformed tiles is a product of matrices: tiles by channels in, channels in by channels out.
#pragma once

#include <cstddef>

#include "kernels/cpu/channels_last/convolve.h"

namespace tern::channels_last {

class Winograd {
 public:
  /// A kernel of 3 by 3 without strides and dilation, and registers full of channels.
  static bool possible(const Convolution& c);
  /// `TERN_WINOGRAD=0` in the environment says no.
  static bool allowed();
  /// Whether it is allowed and this should be faster than `convolve`.
  static bool suits(const Convolution& c);
  explicit Winograd(const Convolution& c);

  /// Bytes, aligned to 64, that `run` needs.
  std::size_t scratch() const;
  /// As `convolve`. False where a sum was not finite: what is not finite spreads all over a tile, so that all results
  /// are to be made anew, the plain way.
  bool run(const Operands& at, const pointwise::Finish& finish, std::byte* scratch) const;

 private:
  Convolution c_;
};

}  // namespace tern::channels_last
