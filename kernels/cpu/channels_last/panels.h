// A weight in the order in which products read it, where an archive has it so (`tern export --target cpu`): panels of
// as many channels as a block of sums has columns; in each, one row for every product of a sum. Without them `convolve`
// makes a part of a panel at a time. Of a depthwise convolution, and of small groups, the channels side by side for
// each element of the window.
#pragma once

#include <vector>

#include "kernels/cpu/channels_last/convolve.h"
#include "kernels/kernel.h"

namespace tern::channels_last {

/// The panels of operand 1 of the call, as long as the program lives; null where there are none. Offers them where an
/// archive is being made.
const float* stored_panels(const KernelCall& call, const Convolution& c);

/// The weight of a convolution by lines: [out, elements of a line, channels in, lines].
std::vector<float> weight_by_lines(const Convolution& c, const float* weight);

}  // namespace tern::channels_last
