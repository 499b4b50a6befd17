// Weights in two bytes.
#pragma once

#include <cstddef>

#include "schema/program.h"

namespace tern {

/// Immutable matrices of float32 become matrices of `dtype` (float16 or bfloat16, rounded to nearest) where nothing but
/// matrix products, as their second operand, and embeddings read them; views may be in between. Products still have
/// float32 operands otherwise, sums and results: `schema/infer/contractions.cpp`. Returns how many there were; tied
/// ones count once.
///
/// A number that float16 cannot hold fails when the weight's bytes are read, which is when the archive is written.
std::size_t narrow_weights(Program& program, DType dtype);

}  // namespace tern
