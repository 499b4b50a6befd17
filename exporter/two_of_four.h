// 2:4 sparse matrices as PyTorch keeps them for CUTLASS.
#pragma once

#include "exporter/builder.h"

namespace tern {

/// The whole matrix [m, 2 k] of kept elements [m, k] and words that say of each its place among four (int16 or int32,
/// in CUTLASS's order). Fails (unsupported) for other sizes and types.
ValueId dense_of_two_in_four(Builder& b, ValueId kept, ValueId words);

}  // namespace tern
