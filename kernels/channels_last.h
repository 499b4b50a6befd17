// Channels-last: the memory order of an image [batch, channels, ...] in which the channels of a position lie side by
// side. Sizes and axes stay as the program has them; only strides tell.
#pragma once

#include "kernels/kernel.h"

namespace tern {

/// Whether an image of one or two dimensions lies so, without gaps. What is as well contiguous is not.
bool is_channels_last(const TensorView& v);
/// Sets such strides. The rank is 3 or 4.
void make_channels_last(TensorView& v);
/// The same elements with the channels' axis last: contiguous where `v` is channels-last. Of lower rank than `rank`:
/// with axes of size 1 in front first.
TensorView in_channels_last_order(const TensorView& v, int rank);

}  // namespace tern
