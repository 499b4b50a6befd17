// Float convolutions of images whose channels lie side by side: each position's channels are a row of a matrix, so that
// nothing is put in another order but weights, a panel at a time, while it is in the first cache.
#pragma once

#include "kernels/cpu/channels_last/blocking.h"
#include "kernels/cpu/pointwise/finish.h"
#include "kernels/cpu/windows/window.h"
#include "kernels/kernel.h"

namespace tern::channels_last {

struct Convolution {
  cpu::Window window;
  std::int64_t batch = 1, groups = 1, in = 1, out = 1;  ///< in and out: channels of one group

  /// Sums are one chain of fused multiply-adds over the elements of the kernel and, for each, the channels in; zeros
  /// around the image are multiplied, and the bias is added last. Where there are such instructions.
  bool in_order = false;
  Blocking blocking;

  /// Has the work divided so; Variant::usual where that is no other than by rule.
  Variant divide(Variant wanted) {
    const Blocking divided = blocking_of(wanted);
    if (!divided.matters(in * cpu::plane(window, &cpu::WindowAxis::kernel))) return Variant::usual;
    blocking = divided;
    return wanted;
  }

  bool depthwise() const { return in == 1 && out == 1; }
  /// Few channels: a line of a window's elements, which lie side by side, is multiplied as if it were one element.
  bool by_lines() const {
    const cpu::WindowAxis& w = window[2];
    return groups == 1 && in <= 4 && w.kernel > 1 && w.dilation == 1 && !in_order && !depthwise();
  }
};

struct Operands {
  const float *x, *weight, *bias;  ///< weight [groups * out, in, ...] as exported; the bias may be null
  float* y;
  const float* panels = nullptr;       ///< the weight as `stored_panels` has it: `weight` is not read
  std::span<const Upcoming> upcoming;  ///< to be asked for
};

/// Of a depthwise convolution whose image is rounded to bfloat16 first, if it does not lie so already.
struct NarrowOperands {
  const std::byte* x = nullptr;
  std::byte* y = nullptr;
  bool narrow_x = false, narrow_y = false;                            ///< bfloat16; the other is float32
  const float *weight = nullptr, *bias = nullptr, *panels = nullptr;  ///< as those of Operands
  std::span<const Upcoming> upcoming;
};

/// Whether groups have 2, 4 or 8 channels, in and out, and there is a loop for such windows on this processor.
bool has_small_groups(const Convolution& c);
/// Whether it is computed one register of channels at a time (`convolve_depthwise`), not as products of matrices.
inline bool goes_by_channels(const Convolution& c) {
  return c.depthwise() || has_small_groups(c);
}

/// Whether this is a good way for an image that lies so already, or (`arranged` false) has to be brought into this
/// order.
bool suits(const Convolution& c, bool arranged);

/// y [batch, ..., groups * out] from x [batch, ..., groups * in]. `finish` is for a call whose views have their
/// channels last, too. On several threads; the bits do not depend on their number.
void convolve(const Convolution& c, const Operands& at, const pointwise::Finish& finish);
/// The same for one channel in and out of each group, or a few.
void convolve_depthwise(const Convolution& c, const Operands& at, const pointwise::Finish& finish);
/// Whether there is a loop for this one in bfloat16, on this processor. Weights and sums are float32.
bool has_narrow_depthwise(const Convolution& c);
void convolve_narrow_depthwise(const Convolution& c, const NarrowOperands& at, const pointwise::Finish& finish);

}  // namespace tern::channels_last
