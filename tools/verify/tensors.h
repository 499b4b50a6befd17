// The deviation of a tensor from its reference, block by block.
#pragma once

#include <tern/tensor.h>

#include <string>

#include "tools/verify/deviation.h"

namespace tern {

/// Reason why two tensors cannot be compared: "float32[3], not float32[4]". Empty for comparable tensors: equal sizes,
/// and both real floating, both complex, or neither.
std::string mismatch(const Tensor& reference, const Tensor& actual);

/// Deviation of two contiguous comparable tensors, in double. Complex elements count by parts in the sums. Rows are
/// counted for real floating tensors with several elements on the last axis; for integers and booleans each element is
/// a row.
Deviation deviation_of(const Tensor& reference, const Tensor& actual);

}  // namespace tern
