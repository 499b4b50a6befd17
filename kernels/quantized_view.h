// The quantized matrix of a view.
#pragma once

#include "dtypes/blocks.h"
#include "kernels/kernel.h"

namespace tern {

/// Matrix of a quantized value's view with logical sizes: leading axes are rows. Checked, because sizes may have been
/// symbolic.
inline QuantizedMatrix quantized_matrix(const TensorView& v) {
  QuantizedMatrix m{v.dtype, 1, v.size(v.rank - 1), v.blocks};
  for (int i = 0; i + 1 < v.rank; ++i) m.rows *= v.size(i);
  check_quantized(m);
  return m;
}

}  // namespace tern
