// Visible keys of a block of an attention mask in memory.
#pragma once

#include "kernels/cpu/attention/condition_bounds.h"

namespace tern::cpu {

/// `offset`: elements before the plane of the block. A boolean mask hides keys by false, a floating mask by -infinity.
Visibility mask_visibility(const TensorView& mask, std::int64_t offset, const ScoreBlock& block);

}  // namespace tern::cpu
