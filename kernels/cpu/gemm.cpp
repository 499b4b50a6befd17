#include "kernels/cpu/gemm.h"

#include <cblas.h>

#include <algorithm>
#include <limits>

#include "kernels/cpu/sgemm/sgemm.h"
#include "threads/parallel.h"

namespace tern {
namespace {

constexpr std::int64_t kBlasMax = std::numeric_limits<blasint>::max();

/// A matrix as BLAS wants it: plain or transposed, with a leading dimension.
struct BlasMatrix {
  bool transposed = false;
  std::int64_t ld = 1;
};

bool blas_matrix(std::int64_t rows, std::int64_t columns, std::int64_t row, std::int64_t column, BlasMatrix* m) {
  if ((column == 1 || columns <= 1) && (row >= std::max<std::int64_t>(columns, 1) || rows <= 1)) {
    *m = {false, rows <= 1 ? std::max<std::int64_t>(columns, 1) : row};
    return m->ld <= kBlasMax;
  }
  if ((row == 1 || rows <= 1) && (column >= std::max<std::int64_t>(rows, 1) || columns <= 1)) {
    *m = {true, columns <= 1 ? std::max<std::int64_t>(rows, 1) : column};
    return m->ld <= kBlasMax;
  }
  return false;
}

CBLAS_TRANSPOSE flag(bool transposed) {
  return transposed ? CblasTrans : CblasNoTrans;
}

template <class T>
void blas_gemm(BlasMatrix a, BlasMatrix b, std::int64_t m, std::int64_t n, std::int64_t k, const T* pa, const T* pb,
               T* c, std::int64_t ldc, bool accumulate) {
  const auto mi = static_cast<blasint>(m), ni = static_cast<blasint>(n), ki = static_cast<blasint>(k);
  const auto lda = static_cast<blasint>(a.ld), ldb = static_cast<blasint>(b.ld), ldci = static_cast<blasint>(ldc);
  const T one = 1, beta = accumulate ? T(1) : T(0);
  if constexpr (std::is_same_v<T, double>) {
    cblas_dgemm(CblasRowMajor, flag(a.transposed), flag(b.transposed), mi, ni, ki, 1.0, pa, lda, pb, ldb, beta, c,
                ldci);
  } else if constexpr (std::is_same_v<T, std::complex<float>>) {
    cblas_cgemm(CblasRowMajor, flag(a.transposed), flag(b.transposed), mi, ni, ki, &one, pa, lda, pb, ldb, &beta, c,
                ldci);
  } else {
    cblas_zgemm(CblasRowMajor, flag(a.transposed), flag(b.transposed), mi, ni, ki, &one, pa, lda, pb, ldb, &beta, c,
                ldci);
  }
}

/// Row by row of c, unit stride where b has it; integers wrap.
template <class T>
void plain_gemm(std::int64_t m, std::int64_t n, std::int64_t k, MatrixView<T> a, MatrixView<T> b, T* c,
                std::int64_t ldc) {
  using Sum = std::conditional_t<std::is_integral_v<T>, std::uint64_t, T>;
  parallel_for(m, std::max<std::int64_t>(1, (1 << 16) / std::max<std::int64_t>(1, n * k)),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) {
                   T* row = c + i * ldc;
                   for (std::int64_t p = 0; p < k; ++p) {
                     const Sum x = static_cast<Sum>(a.data[i * a.row + p * a.column]);
                     const T* from = b.data + p * b.row;
                     for (std::int64_t j = 0; j < n; ++j) {
                       row[j] = static_cast<T>(static_cast<Sum>(row[j]) + x * static_cast<Sum>(from[j * b.column]));
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

bool gemm_layout(std::int64_t rows, std::int64_t columns, std::int64_t row, std::int64_t column) {
  BlasMatrix m;
  return blas_matrix(rows, columns, row, column, &m);
}

template <class T>
void gemm(std::int64_t m, std::int64_t n, std::int64_t k, MatrixView<T> a, MatrixView<T> b, T* c, std::int64_t ldc,
          bool accumulate) {
  if (m == 0 || n == 0) return;
  if constexpr (std::is_same_v<T, float>) {
    if (k > 0) return sgemm(m, n, k, a.data, a.row, a.column, b.data, b.row, b.column, c, ldc, accumulate);
  } else if constexpr (!std::is_integral_v<T>) {
    BlasMatrix am, bm;
    const bool small = std::max({m, n, k, ldc}) <= kBlasMax;
    if (k > 0 && small && blas_matrix(m, k, a.row, a.column, &am) && blas_matrix(k, n, b.row, b.column, &bm)) {
      return blas_gemm(am, bm, m, n, k, a.data, b.data, c, ldc, accumulate);
    }
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

}  // namespace tern
