// Float convolutions of channels-last images: each position's channels are a row of a matrix. Only weights are
// reordered, one panel at a time in the first cache.
#pragma once

#include <optional>

#include "kernels/cpu/channels_last/blocking.h"
#include "kernels/cpu/pointwise/finish.h"
#include "kernels/cpu/windows/window.h"
#include "kernels/kernel.h"

namespace tern::channels_last {

/// Floats from the start of the result to its first line, and between images, lines and positions.
struct ResultSteps {
  std::int64_t first = 0, image = 0, line = 0, position = 0;
};

struct ChannelsLastShape {
  cpu::Window window;
  std::int64_t batch = 1, groups = 1, in = 1, out = 1;  ///< channels of a group: in and out

  /// Sums are a single chain of fmas over the kernel elements and, for each, the input channels; zero padding is
  /// multiplied, and the bias is added last. Requires fma instructions.
  bool is_ordered = false;
  Blocking blocking;
  /// Set where the results are spread over a larger image of two dimensions (transposed.h).
  std::optional<ResultSteps> spread;

  /// Sets the division of the work; returns Variant::usual if the rules would choose the same.
  Variant divide(Variant wanted) {
    const Blocking divided = blocking_of(wanted);
    if (!divided.matters(in * cpu::plane(window, &cpu::WindowAxis::kernel))) return Variant::usual;
    blocking = divided;
    return wanted;
  }

  bool depthwise() const { return in == 1 && out == 1; }
  /// Few channels: multiplies a line of window elements, which are adjacent, like a single element.
  bool multiplies_lines() const {
    const cpu::WindowAxis& w = window[2];
    return groups == 1 && in <= 4 && w.kernel > 1 && w.dilation == 1 && !is_ordered && !depthwise();
  }
};

struct ChannelsLastOperands {
  const float *x, *weight, *bias;  ///< weight [groups * out, in, ...] as exported; the bias may be null
  float* y;
  const float* panels = nullptr;       ///< the weight in the order of `stored_panels`; `weight` is then not read
  std::span<const Upcoming> upcoming;  ///< lines to prefetch
};

/// Operands of a depthwise convolution in bfloat16. A float32 image is rounded first.
struct NarrowOperands {
  const std::byte* x = nullptr;
  std::byte* y = nullptr;
  bool narrow_x = false, narrow_y = false;                            ///< bfloat16; the other is float32
  const float *weight = nullptr, *bias = nullptr, *panels = nullptr;  ///< like ChannelsLastOperands
  std::span<const Upcoming> upcoming;
};

/// True if groups have 2, 4 or 8 channels, in and out, and this processor has a loop for such windows.
bool has_small_groups(const ChannelsLastShape& c);
/// True if `convolve_depthwise` computes this convolution, one vector of channels at a time, instead of matrix
/// products.
inline bool goes_by_channels(const ChannelsLastShape& c) {
  return c.depthwise() || has_small_groups(c);
}

/// True if this algorithm suits an image that is channels last (`arranged`) or must be reordered first.
bool suits(const ChannelsLastShape& c, bool arranged);

/// True if `convolve` computes a convolution of three dimensions: many channels in and out.
bool is_volume(const ChannelsLastShape& c);

/// Computes y [batch, ..., groups * out] from x [batch, ..., groups * in]. The views of the call in `finish` are
/// channels last, too. Uses several threads; the bits do not depend on their number.
void convolve(const ChannelsLastShape& c, const ChannelsLastOperands& at, const pointwise::BoundEpilogue& finish);
/// Like `convolve`, for groups of a single channel or a few channels, in and out.
void convolve_depthwise(const ChannelsLastShape& c, const ChannelsLastOperands& at,
                        const pointwise::BoundEpilogue& finish);
/// True if this processor has a bfloat16 loop for this convolution. Weights and sums are float32.
bool has_narrow_depthwise(const ChannelsLastShape& c);
void convolve_narrow_depthwise(const ChannelsLastShape& c, const NarrowOperands& at,
                               const pointwise::BoundEpilogue& finish);

}  // namespace tern::channels_last
