// A weight stored in the order of products (`tern export --target cpu`): panels as wide as a block of sums; each panel
// has a row for every product of a sum. Without stored panels `convolve` packs parts of panels. Depthwise convolutions
// and small groups store adjacent channels for each window element.
#pragma once

#include <vector>

#include "kernels/cpu/channels_last/convolve.h"
#include "kernels/kernel.h"

namespace tern::channels_last {

/// Returns the panels of operand 1 for the life of the program; null if absent. Offers panels to an archive under
/// construction.
const float* stored_panels(const KernelCall& call, const ChannelsLastShape& c);

/// Returns the floats of the panels of a convolution by products.
std::int64_t panel_floats(const ChannelsLastShape& c);
/// Returns the panels of an exported weight of such a convolution.
std::vector<float> make_panels(const ChannelsLastShape& c, const float* weight);

/// Returns the weight of a convolution by lines: [out, elements of a line, channels in, lines].
std::vector<float> weight_by_lines(const ChannelsLastShape& c, const float* weight);

}  // namespace tern::channels_last
