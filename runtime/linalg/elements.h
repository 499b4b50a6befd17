// Elementwise helpers between nodes. Tensors are contiguous.
#pragma once

#include <tern/tensor.h>

#include <complex>

#include "dtypes/real_of.h"

namespace tern::linalg {

inline DType real_type(DType t) {
  return t == DType::c64 ? DType::f32 : t == DType::c128 ? DType::f64 : t;
}
/// Calls f(T()) with the C++ type of `t`, a type of linear algebra.
template <class F>
void visit(DType t, F f) {
  switch (t) {
    case DType::f32: return f(float());
    case DType::f64: return f(double());
    case DType::c64: return f(std::complex<float>());
    default: return f(std::complex<double>());
  }
}

/// Machine epsilon of the type's real and imaginary parts.
double epsilon(DType t);
/// [n, n]
Tensor identity(DType t, std::int64_t n);
/// Returns [..., n, m] of [..., m, n].
Tensor adjoint(const Tensor& a);
/// Multiplies column j of each matrix [..., m, k] by the real factors [..., k].
void scale_columns(Tensor& a, const Tensor& factors);

}  // namespace tern::linalg
