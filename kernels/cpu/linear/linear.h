// y = x w^T + bias in float32 with a weight that is read where it lies: nothing is packed, at load or later.
#pragma once

#include <cstdint>

#include "kernels/cpu/pointwise/finish.h"

namespace tern {

/// y [m, n] (dense) from x [m, k] (rows `x_row` apart) and w [n, k] (rows `w_row` apart).
struct LinearShape {
  std::int64_t m = 0, n = 0, k = 0, x_row = 0, w_row = 0;
};

struct LinearOperands {
  const float *x = nullptr, *weight = nullptr;
  const float* bias = nullptr;  ///< [n], or null
  float* y = nullptr;
  pointwise::Finish finish;
};

/// On several threads unless called from a parallel region; the bits do not depend on their number. m, n and k are at
/// least 1.
void linear(const LinearShape& s, const LinearOperands& o);

}  // namespace tern
