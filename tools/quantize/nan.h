// Searches a tensor for NaN.
#pragma once

#include <tern/tensor.h>

namespace tern {

/// False for types without NaN.
bool has_nan(const Tensor& t);

}  // namespace tern
