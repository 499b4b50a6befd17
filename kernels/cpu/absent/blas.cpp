// A build without BLAS: native kernels make every product.
#include "kernels/cpu/products/blas.h"

namespace tern {

template <class T>
bool blas_gemm(std::int64_t, std::int64_t, std::int64_t, MatrixView<T>, MatrixView<T>, T*, std::int64_t, bool) {
  return false;
}

#define TERN_GEMM(T)                                                                                                   \
  template bool blas_gemm<T>(std::int64_t, std::int64_t, std::int64_t, MatrixView<T>, MatrixView<T>, T*, std::int64_t, \
                             bool);
TERN_GEMM(double)
TERN_GEMM(std::complex<float>)
TERN_GEMM(std::complex<double>)
#undef TERN_GEMM

}  // namespace tern
