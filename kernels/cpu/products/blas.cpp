#include "kernels/cpu/products/blas.h"

#include <cblas.h>

#include <algorithm>
#include <type_traits>

#include "threads/loop_recorder.h"

namespace tern {
namespace {

static_assert(std::numeric_limits<blasint>::max() >= kBlasMax);

CBLAS_TRANSPOSE flag(bool transposed) {
  return transposed ? CblasTrans : CblasNoTrans;
}

template <class T>
void multiply(BlasMatrix a, BlasMatrix b, std::int64_t m, std::int64_t n, std::int64_t k, const T* pa, const T* pb,
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

}  // namespace

template <class T>
bool blas_gemm(std::int64_t m, std::int64_t n, std::int64_t k, MatrixView<T> a, MatrixView<T> b, T* c, std::int64_t ldc,
               bool accumulate) {
  BlasMatrix am, bm;
  const bool small = std::max({m, n, k, ldc}) <= kBlasMax;
  if (!small || !blas_matrix(m, k, a.row, a.column, &am) || !blas_matrix(k, n, b.row, b.column, &bm)) return false;
  const OpenMpScope openmp;
  multiply(am, bm, m, n, k, a.data, b.data, c, ldc, accumulate);
  return true;
}

#define TERN_GEMM(T)                                                                                                   \
  template bool blas_gemm<T>(std::int64_t, std::int64_t, std::int64_t, MatrixView<T>, MatrixView<T>, T*, std::int64_t, \
                             bool);
TERN_GEMM(double)
TERN_GEMM(std::complex<float>)
TERN_GEMM(std::complex<double>)
#undef TERN_GEMM

}  // namespace tern
