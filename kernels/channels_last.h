// Channels-last: the memory order of an image [batch, channels, ...] with adjacent channels of each position. Sizes and
// axes stay as in the program; only strides differ.
#pragma once

#include "kernels/kernel.h"

namespace tern {

/// True for an image of one to three dimensions in this layout, without gaps. Excludes views in row-major order.
bool is_channels_last(const TensorView& v);
/// Sets the strides of this layout. The rank is 3 to 5.
void make_channels_last(TensorView& v);
/// The same elements with the channels' axis last: contiguous if `v` is channels-last. A view of rank below `rank`
/// first gets leading axes of size 1.
TensorView to_channels_last_order(const TensorView& v, int rank);

}  // namespace tern
