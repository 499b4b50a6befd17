// Batches in double precision for algorithms of runtime/matrices, with a number in `info` for each matrix.
#pragma once

#include <tern/tensor.h>

#include <functional>
#include <initializer_list>
#include <vector>

#include "runtime/linalg/nodes.h"
#include "runtime/linalg/partial_results.h"
#include "runtime/matrices/matrix.h"

namespace tern::linalg {

inline DType complex_type(DType real) {
  return real == DType::f32 ? DType::c64 : real == DType::f64 ? DType::c128 : real;
}
inline bool has_complex_type(const Tensor& a) {
  return a.dtype() == DType::c64 || a.dtype() == DType::c128;
}

/// The elements in float64 or complex128, contiguous and in memory of its own.
Tensor widened(const Tensor& a, bool to_complex);
/// The elements in type `t`. A real type keeps real parts.
Tensor narrowed(const Tensor& a, DType t);

/// Requires square matrices of a type of linear algebra on the host.
void require_square(const Nodes& nodes, const Tensor& a);
/// Requires batches [..., _, _] of one type and equal leading sizes.
void require_same_batch(const Nodes& nodes, const Tensor& a, const Tensor& b);

/// int32 [...] for the batch of A: kNotFinite for each index of a matrix (or vector, with `core` 1) with NaN or
/// infinities in an operand, else 0.
Tensor info_of(std::initializer_list<const Tensor*> operands, int core = 2);
/// Calls f(i), which returns the info of matrix i, for each matrix with info 0, on several threads. `operations`:
/// about the number of each call.
void visit_matrices(Tensor& info, double operations, const std::function<std::int32_t(std::int64_t)>& f);
/// Sets info to kNoSolution where a result is not finite, and results to NaN where info is not 0.
void seal(Tensor& info, std::initializer_list<Tensor*> results);

/// Multiplies matrix i by 2^(sign exponents[i]).
void scale_matrices(Tensor& batch, const std::vector<int>& exponents, int sign);

/// Matrix i of a contiguous batch.
template <class T>
matrices::MatrixRef<T> matrix_of(Tensor& a, std::int64_t i) {
  const std::int64_t rows = a.sizes()[a.sizes().size() - 2], columns = a.sizes().back();
  return {static_cast<T*>(a.data()) + i * rows * columns, rows, columns};
}
template <class T>
matrices::MatrixRef<const T> matrix_of(const Tensor& a, std::int64_t i) {
  const std::int64_t rows = a.sizes()[a.sizes().size() - 2], columns = a.sizes().back();
  return {static_cast<const T*>(a.data()) + i * rows * columns, rows, columns};
}

}  // namespace tern::linalg
