// Transposed convolutions of channels-last images, as convolutions without strides: the results whose positions leave
// the same remainders by the strides read the same elements of the kernel.
#pragma once

#include <vector>

#include "kernels/cpu/channels_last/convolve.h"

namespace tern::channels_last {

class TransposedConvolution {
 public:
  /// `c.window` is the window of the forward convolution: its `in` counts results. One or two dimensions.
  explicit TransposedConvolution(const ChannelsLastShape& c);

  /// Returns the floats of the packed weight.
  std::int64_t packed_floats() const;
  /// Packs the exported weight [groups * in, out, ...].
  void pack(const float* weight, float* to) const;
  /// Computes the result from a packed weight, given as `at.panels`. Uses several threads; the bits do not depend on
  /// their number.
  void run(const ChannelsLastOperands& at, const pointwise::BoundEpilogue& finish) const;

 private:
  /// Elements of a kernel's axis in the order of a phase's window.
  using Elements = std::vector<std::int64_t>;

  /// The results with one pair of remainders.
  struct Phase {
    ChannelsLastShape shape;
    Elements lines, columns;  ///< empty: no element reaches these results
  };
  std::vector<float> weight_of(const Phase& phase, const float* weight) const;

  ChannelsLastShape c_;
  std::vector<Phase> phases_;
};

}  // namespace tern::channels_last
