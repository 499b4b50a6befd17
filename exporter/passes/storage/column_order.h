// The order in memory of weights that only products read.
#pragma once

#include "schema/program.h"

namespace tern {

/// Constant matrices [k, n] of float32, or of elements of 8 bits, that nothing but products reads, as their second
/// operand, are stored column by column: strides {1, k}. Values, shapes and names stay. Every kernel reads such a
/// weight in one sweep for each column of the result; it is the order that torch.nn.Linear has, and torch.addmm with a
/// weight [k, n] has not. Bytes are put in order when they are written or read, one weight at a time.
void store_weights_by_columns(Program& program);

}  // namespace tern
