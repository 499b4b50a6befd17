// PyTorch's 2:4 sparse matrices for CUTLASS.
#pragma once

#include "exporter/builder.h"

namespace tern {

/// Expands stored elements [m, k] to the whole matrix [m, 2 k]. `words` give each element's position among four (int16
/// or int32, in CUTLASS's order). Fails (unsupported) for other sizes and types.
ValueId dense_of_two_in_four(Builder& b, ValueId nonzeros, ValueId words);

}  // namespace tern
