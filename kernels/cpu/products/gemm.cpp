#include "kernels/cpu/products/gemm.h"

#include <algorithm>

#include "kernels/cpu/products/blas.h"
#include "kernels/cpu/products/float32/strided_driver.h"
#include "threads/parallel.h"

namespace tern {

bool blas_matrix(std::int64_t rows, std::int64_t columns, std::int64_t row_stride, std::int64_t column_stride,
                 BlasMatrix* result) {
  if ((column_stride == 1 || columns <= 1) && (row_stride >= std::max<std::int64_t>(columns, 1) || rows <= 1)) {
    *result = {false, rows <= 1 ? std::max<std::int64_t>(columns, 1) : row_stride};
    return result->ld <= kBlasMax;
  }
  if ((row_stride == 1 || rows <= 1) && (column_stride >= std::max<std::int64_t>(rows, 1) || columns <= 1)) {
    *result = {true, columns <= 1 ? std::max<std::int64_t>(rows, 1) : column_stride};
    return result->ld <= kBlasMax;
  }
  return false;
}

namespace {

/// Adds a b to c, row by row of c; the innermost loop runs along rows of b. Integers wrap.
template <class T>
void plain_gemm(std::int64_t m, std::int64_t n, std::int64_t k, MatrixView<T> a, MatrixView<T> b, T* c,
                std::int64_t ldc) {
  using Sum = std::conditional_t<std::is_integral_v<T>, std::uint64_t, T>;
  parallel_for(
      m, std::max<std::int64_t>(1, (1 << 16) / std::max<std::int64_t>(1, n * k)),
      [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          T* c_row = c + i * ldc;
          for (std::int64_t p = 0; p < k; ++p) {
            const Sum a_element = static_cast<Sum>(a.data[i * a.row + p * a.column]);
            const T* b_row = b.data + p * b.row;
            for (std::int64_t j = 0; j < n; ++j) {
              c_row[j] = static_cast<T>(static_cast<Sum>(c_row[j]) + a_element * static_cast<Sum>(b_row[j * b.column]));
            }
          }
        }
      });
}

}  // namespace

DType gemm_type(DType t) {
  if (t == DType::f64 || t == DType::c64 || t == DType::c128) return t;
  if (t == DType::c32) return DType::c64;
  return is_floating(t) ? DType::f32 : DType::i64;
}

bool gemm_layout(std::int64_t rows, std::int64_t columns, std::int64_t row_stride, std::int64_t column_stride) {
  BlasMatrix result;
  return blas_matrix(rows, columns, row_stride, column_stride, &result);
}

template <class T>
void gemm(std::int64_t m, std::int64_t n, std::int64_t k, MatrixView<T> a, MatrixView<T> b, T* c, std::int64_t ldc,
          bool accumulate) {
  if (m == 0 || n == 0) return;
  if constexpr (std::is_same_v<T, float>) {
    if (k > 0) return sgemm(m, n, k, a.data, a.row, a.column, b.data, b.row, b.column, c, ldc, accumulate);
  } else if constexpr (!std::is_integral_v<T>) {
    if (k > 0 && blas_gemm(m, n, k, a, b, c, ldc, accumulate)) return;
  }
  if (!accumulate) {
    for (std::int64_t i = 0; i < m; ++i) std::fill_n(c + i * ldc, n, T(0));
  }
  plain_gemm(m, n, k, a, b, c, ldc);
}

#define TERN_GEMM(T) \
  template void gemm<T>(std::int64_t, std::int64_t, std::int64_t, MatrixView<T>, MatrixView<T>, T*, std::int64_t, bool);
TERN_GEMM(float)
TERN_GEMM(double)
TERN_GEMM(std::complex<float>)
TERN_GEMM(std::complex<double>)
TERN_GEMM(std::int64_t)
#undef TERN_GEMM

}  // namespace tern
