// A weight in the order of products: panels as wide as a block of sums; each panel has a row for every product of a
// sum. Archives store them (`tern export --target cpu`); otherwise constant weights of usual sizes are packed once, and
// `convolve` packs parts of panels of all others in each run. Depthwise convolutions and small groups have adjacent
// channels for each window element.
#pragma once

#include <memory>
#include <vector>

#include "kernels/cpu/channels_last/convolve.h"
#include "kernels/kernel.h"

namespace tern::channels_last {

/// Returns the panels of operand 1 for the life of the program; null if absent. Offers panels to an archive under
/// construction.
const float* stored_panels(const KernelCall& call, const ChannelsLastShape& c);

/// Returns the stored panels, or panels that are packed now and shared by all plans of the program; null where operand
/// 1 is not a constant, or so large that a second copy is not worth its memory.
std::shared_ptr<const float> constant_panels(const KernelCall& call, const ChannelsLastShape& c);

/// Returns the floats of the panels of a convolution by products.
std::int64_t panel_floats(const ChannelsLastShape& c);
/// Returns the panels of an exported weight of such a convolution.
std::vector<float> make_panels(const ChannelsLastShape& c, const float* weight);

/// Returns the weight of a convolution by lines: [out, elements of a line, channels in, lines].
std::vector<float> weight_by_lines(const ChannelsLastShape& c, const float* weight);

}  // namespace tern::channels_last
