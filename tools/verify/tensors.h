// The deviation of a tensor from its reference, block by block.
#pragma once

#include <tern/tensor.h>

#include <string>

#include "tools/verify/deviation.h"

namespace tern {

/// Why two tensors cannot be compared: "float32[3], not float32[4]". Empty where they can: of equal sizes, and both
/// real floating, both complex, or neither.
std::string mismatch(const Tensor& reference, const Tensor& actual);

/// Of two contiguous tensors without mismatch, in double. Complex elements count by parts in the sums. Rows are counted
/// for real floating tensors whose last axis has several elements; of integers and booleans each element is a row.
Deviation deviation_of(const Tensor& reference, const Tensor& actual);

}  // namespace tern
