// y = x w^T + bias in float32 with a weight that is read where it lies: nothing is packed, at load or later. A weight
// of a narrower type is read in that type and widened in the caches.
#pragma once

#include <tern/dtype.h>

#include <cstdint>

#include "dtypes/blocks.h"
#include "dtypes/small_float.h"
#include "kernels/cpu/pointwise/finish.h"

namespace tern {

/// y [m, n] (dense) from x [m, k] (rows `x_row` apart) and w [n, k] (rows `w_row` apart).
struct LinearShape {
  std::int64_t m = 0, n = 0, k = 0, x_row = 0, w_row = 0;
};

struct LinearOperands {
  const float* x = nullptr;
  const void* weight = nullptr;  ///< elements of `type`
  const float* bias = nullptr;   ///< [n], or null
  float* y = nullptr;
  pointwise::BoundEpilogue finish;
  DType type = DType::f32;                     ///< or one that is_narrow
  const QuantizedMatrix* quantized = nullptr;  ///< the weight is such a value; for more than a few rows of x
};

/// Floats of two bytes or of one.
bool is_narrow_float(DType t);
/// True if `linear` widens weights of this type: narrow floats, and integers of 8 bits.
bool is_narrow(DType t);

/// Runs on several threads unless called from a parallel region; the bits do not depend on their number. m, n and k are
/// at least 1.
void linear(const LinearShape& s, const LinearOperands& o);

/// Operands in bfloat16, multiplied as such and added in float32.
struct Bf16Operands {
  const BFloat16 *x = nullptr, *weight = nullptr;
  const float* bias = nullptr;
  float* y = nullptr;
};

/// True if this processor multiplies bfloat16 in this shape, whose counts are even.
bool multiplies_bf16(const LinearShape& s);
void linear(const LinearShape& s, const Bf16Operands& o);

}  // namespace tern
