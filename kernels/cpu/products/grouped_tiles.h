// Products of the rows of one group on matrix tiles.
#pragma once

#include "kernels/kernel.h"

namespace tern::cpu {

/// y [m, n] (dense) from x [m, k] (dense) and a matrix [k, n] of float32 or bfloat16 of the call. False where tiles
/// would not gain, or a result is not finite: then y is to be computed in another way.
bool multiply_on_tiles(const KernelCall& call, const TensorView& matrix, const float* x, std::int64_t m, float* y);

}  // namespace tern::cpu
