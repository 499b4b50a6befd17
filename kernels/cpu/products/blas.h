// Products by BLAS, in the types that Tern has no product of its own for.
#pragma once

#include <cstdint>
#include <limits>

#include "kernels/cpu/products/gemm.h"

namespace tern {

/// The largest size that BLAS counts.
inline constexpr std::int64_t kBlasMax = std::numeric_limits<std::int32_t>::max();

/// A matrix as BLAS reads it: plain or transposed, with a leading dimension.
struct BlasMatrix {
  bool transposed = false;
  std::int64_t ld = 1;
};

/// False where BLAS cannot read a matrix with these strides.
bool blas_matrix(std::int64_t rows, std::int64_t columns, std::int64_t row, std::int64_t column, BlasMatrix* m);

/// c [m, n] (rows `ldc` apart) = a b, plus what c held if `accumulate`; no size is 0. T is double, complex<float> or
/// complex<double>. False, with nothing done, where BLAS cannot read the operands, and in a build without BLAS.
template <class T>
bool blas_gemm(std::int64_t m, std::int64_t n, std::int64_t k, MatrixView<T> a, MatrixView<T> b, T* c, std::int64_t ldc,
               bool accumulate);

}  // namespace tern
