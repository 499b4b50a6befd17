// Weights of 8 bits that a program converts to the type of its activations.
#pragma once

#include "schema/program.h"

namespace tern {

/// Products and embeddings read such weights (immutable states of int8, uint8 or float8) in their own bits, through the
/// views that the program has between the conversion and the reader:
///   matmul(x, cast(w))       -> matmul(x, w), and the same of grouped_matmul
///   matmul(x, cast(w) * s)   -> matmul(x, w) * s, where s is one number, or one for each column of the result
///   embedding(cast(w) * s)   -> cast(embedding(w)) * embedding(s)
/// The first and the last keep all bits: the conversions are exact, and sums are float32 before and after. The second
/// leaves out the rounding of each scaled weight, and rounds each sum once more.
///
/// Goes before fold_constants, which would compute small float weights ahead of time.
void read_byte_weights(Program& program);

}  // namespace tern
