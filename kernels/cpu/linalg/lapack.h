// LAPACK and CBLAS on column-major matrices, overloaded by the element type. Each function returns LAPACK's info.
#pragma once

#include <complex>
#include <cstdint>

#define lapack_complex_float std::complex<float>
#define lapack_complex_double std::complex<double>
#include <cblas.h>
#include <lapacke.h>

#include "dtypes/real_of.h"

namespace tern::lapack {

template <class T>
using RealPart = typename RealOf<T>::type;
template <class T>
inline constexpr bool kIsComplex = !std::is_same_v<T, RealPart<T>>;

// X(prefix, type); X(prefix, name, type) for functions with different real and complex names.
#define TERN_LAPACK_TYPES(X) X(s, float) X(d, double) X(c, std::complex<float>) X(z, std::complex<double>)
#define TERN_LAPACK_REAL(X) X(s, float) X(d, double)
#define TERN_LAPACK_COMPLEX(X) X(c, std::complex<float>) X(z, std::complex<double>)

#define TERN_LAPACK(P, T)                                                                                         \
  inline int potrf(char uplo, int n, T* a, int lda) {                                                             \
    return LAPACKE_##P##potrf_work(LAPACK_COL_MAJOR, uplo, n, a, lda);                                            \
  }                                                                                                               \
  inline int geqrf(int m, int n, T* a, int lda, T* tau, T* work, int lwork) {                                     \
    return LAPACKE_##P##geqrf_work(LAPACK_COL_MAJOR, m, n, a, lda, tau, work, lwork);                             \
  }                                                                                                               \
  inline int geqrt(int m, int n, int nb, T* a, int lda, T* t, int ldt, T* work) {                                 \
    return LAPACKE_##P##geqrt_work(LAPACK_COL_MAJOR, m, n, nb, a, lda, t, ldt, work);                             \
  }                                                                                                               \
  inline int getrf(int m, int n, T* a, int lda, int* pivots) {                                                    \
    return LAPACKE_##P##getrf_work(LAPACK_COL_MAJOR, m, n, a, lda, pivots);                                       \
  }                                                                                                               \
  inline int getrs(int n, int k, const T* a, int lda, const int* pivots, T* b, int ldb) {                         \
    return LAPACKE_##P##getrs_work(LAPACK_COL_MAJOR, 'N', n, k, a, lda, pivots, b, ldb);                          \
  }                                                                                                               \
  inline int sytrf(int n, T* a, int lda, int* pivots, T* work, int lwork) {                                       \
    return LAPACKE_##P##sytrf_work(LAPACK_COL_MAJOR, 'L', n, a, lda, pivots, work, lwork);                        \
  }                                                                                                               \
  inline int sytrs(int n, int k, const T* a, int lda, const int* pivots, T* b, int ldb) {                         \
    return LAPACKE_##P##sytrs_work(LAPACK_COL_MAJOR, 'L', n, k, a, lda, pivots, b, ldb);                          \
  }                                                                                                               \
  inline int gels(int m, int n, int k, T* a, int lda, T* b, int ldb, T* work, int lwork) {                        \
    return LAPACKE_##P##gels_work(LAPACK_COL_MAJOR, 'N', m, n, k, a, lda, b, ldb, work, lwork);                   \
  }                                                                                                               \
  /* row-major, in place of the vector */                                                                         \
  inline void trsv(CBLAS_UPLO uplo, CBLAS_TRANSPOSE trans, CBLAS_DIAG diag, int n, const T* a, int lda, T* x) {   \
    cblas_##P##trsv(CblasRowMajor, uplo, trans, diag, n, a, lda, x, 1);                                           \
  }                                                                                                               \
  /* column-major, in place of the vector: op of an upper triangle times it, and what gives it by that product */ \
  inline void upper_times(CBLAS_TRANSPOSE op, int n, const T* a, int lda, T* x) {                                 \
    cblas_##P##trmv(CblasColMajor, CblasUpper, op, CblasNonUnit, n, a, lda, x, 1);                                \
  }                                                                                                               \
  inline void upper_solve(CBLAS_TRANSPOSE op, int n, const T* a, int lda, T* x) {                                 \
    cblas_##P##trsv(CblasColMajor, CblasUpper, op, CblasNonUnit, n, a, lda, x, 1);                                \
  }
TERN_LAPACK_TYPES(TERN_LAPACK)
#undef TERN_LAPACK

#define TERN_LAPACK(P, T)                                                                                              \
  inline int orgqr(int m, int n, int k, T* a, int lda, const T* tau, T* work, int lwork) {                             \
    return LAPACKE_##P##orgqr_work(LAPACK_COL_MAJOR, m, n, k, a, lda, tau, work, lwork);                               \
  }                                                                                                                    \
  inline int ormqr(char side, char trans, int m, int n, int k, const T* a, int lda, const T* tau, T* c, int ldc,       \
                   T* work, int lwork) {                                                                               \
    return LAPACKE_##P##ormqr_work(LAPACK_COL_MAJOR, side, trans == 'C' ? 'T' : trans, m, n, k, a, lda, tau, c, ldc,   \
                                   work, lwork);                                                                       \
  }                                                                                                                    \
  inline int heevd(char job, char uplo, int n, T* a, int lda, T* w, T* work, int lwork, T*, int, int* iwork,           \
                   int liwork) {                                                                                       \
    return LAPACKE_##P##syevd_work(LAPACK_COL_MAJOR, job, uplo, n, a, lda, w, work, lwork, iwork, liwork);             \
  }                                                                                                                    \
  /* values: the real parts, then the imaginary ones */                                                                \
  inline int geev(char job, int n, T* a, int lda, T* values, T* v, int ldv, T* work, int lwork, T*) {                  \
    return LAPACKE_##P##geev_work(LAPACK_COL_MAJOR, 'N', job, n, a, lda, values, values + n, nullptr, 1, v, ldv, work, \
                                  lwork);                                                                              \
  }                                                                                                                    \
  inline int gesdd(char job, int m, int n, T* a, int lda, T* s, T* u, int ldu, T* vt, int ldvt, T* work, int lwork,    \
                   T*, int* iwork) {                                                                                   \
    return LAPACKE_##P##gesdd_work(LAPACK_COL_MAJOR, job, m, n, a, lda, s, u, ldu, vt, ldvt, work, lwork, iwork);      \
  }                                                                                                                    \
  inline int hetrf(int n, T* a, int lda, int* pivots, T* work, int lwork) {                                            \
    return sytrf(n, a, lda, pivots, work, lwork);                                                                      \
  }                                                                                                                    \
  inline int hetrs(int n, int k, const T* a, int lda, const int* pivots, T* b, int ldb) {                              \
    return sytrs(n, k, a, lda, pivots, b, ldb);                                                                        \
  }                                                                                                                    \
  inline int gelsy(int m, int n, int k, T* a, int lda, T* b, int ldb, int* jpvt, T rcond, int* rank, T* work,          \
                   int lwork, T*) {                                                                                    \
    return LAPACKE_##P##gelsy_work(LAPACK_COL_MAJOR, m, n, k, a, lda, b, ldb, jpvt, rcond, rank, work, lwork);         \
  }                                                                                                                    \
  inline int gelsd(int m, int n, int k, T* a, int lda, T* b, int ldb, T* s, T rcond, int* rank, T* work, int lwork,    \
                   T*, int* iwork) {                                                                                   \
    return LAPACKE_##P##gelsd_work(LAPACK_COL_MAJOR, m, n, k, a, lda, b, ldb, s, rcond, rank, work, lwork, iwork);     \
  }                                                                                                                    \
  inline int gelss(int m, int n, int k, T* a, int lda, T* b, int ldb, T* s, T rcond, int* rank, T* work, int lwork,    \
                   T*) {                                                                                               \
    return LAPACKE_##P##gelss_work(LAPACK_COL_MAJOR, m, n, k, a, lda, b, ldb, s, rcond, rank, work, lwork);            \
  }                                                                                                                    \
  /* row-major: X with op(A) X = B or X op(A) = B, in place of B */                                                    \
  inline void trsm(CBLAS_SIDE side, CBLAS_UPLO uplo, CBLAS_TRANSPOSE trans, CBLAS_DIAG diag, int m, int n, const T* a, \
                   int lda, T* b, int ldb) {                                                                           \
    cblas_##P##trsm(CblasRowMajor, side, uplo, trans, diag, m, n, T(1), a, lda, b, ldb);                               \
  }                                                                                                                    \
  /* row-major: c -= op(a) op(b), m x n, k products each */                                                            \
  inline void subtract_product(CBLAS_TRANSPOSE op_a, CBLAS_TRANSPOSE op_b, int m, int n, int k, const T* a, int lda,   \
                               const T* b, int ldb, T* c, int ldc) {                                                   \
    cblas_##P##gemm(CblasRowMajor, op_a, op_b, m, n, k, T(-1), a, lda, b, ldb, T(1), c, ldc);                          \
  }                                                                                                                    \
  /* c = a b of n x n */                                                                                               \
  inline void square_product(int n, const T* a, const T* b, T* c) {                                                    \
    cblas_##P##gemm(CblasColMajor, CblasNoTrans, CblasNoTrans, n, n, n, T(1), a, n, b, n, T(0), c, n);                 \
  }                                                                                                                    \
  /* column-major: c = alpha op(a) op(b) + beta c */                                                                   \
  inline void product(CBLAS_TRANSPOSE op_a, CBLAS_TRANSPOSE op_b, int m, int n, int k, T alpha, const T* a, int lda,   \
                      const T* b, int ldb, T beta, T* c, int ldc) {                                                    \
    cblas_##P##gemm(CblasColMajor, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);                          \
  }                                                                                                                    \
  inline int larft(int m, int k, const T* v, int ldv, const T* tau, T* t, int ldt) {                                   \
    return LAPACKE_##P##larft_work(LAPACK_COL_MAJOR, 'F', 'C', m, k, v, ldv, tau, t, ldt);                             \
  }                                                                                                                    \
  inline int sytrd(int n, T* a, int lda, T* d, T* e, T* tau, T* work, int lwork) {                                     \
    return LAPACKE_##P##sytrd_work(LAPACK_COL_MAJOR, 'L', n, a, lda, d, e, tau, work, lwork);                          \
  }                                                                                                                    \
  inline int gebrd(int n, T* a, T* d, T* e, T* tau_q, T* tau_p, T* work, int lwork) {                                  \
    return LAPACKE_##P##gebrd_work(LAPACK_COL_MAJOR, n, n, a, n, d, e, tau_q, tau_p, work, lwork);                     \
  }                                                                                                                    \
  inline int bdsdc(int n, T* d, T* e, T* u, T* vt, T* work, int* iwork) {                                              \
    return LAPACKE_##P##bdsdc_work(LAPACK_COL_MAJOR, 'U', 'I', n, d, e, u, n, vt, n, nullptr, nullptr, work, iwork);   \
  }                                                                                                                    \
  inline int stedc(int n, T* d, T* e, T* z, int ldz, T* work, int lwork, int* iwork, int liwork) {                     \
    return LAPACKE_##P##stedc_work(LAPACK_COL_MAJOR, 'I', n, d, e, z, ldz, work, lwork, iwork, liwork);                \
  }
TERN_LAPACK_REAL(TERN_LAPACK)
#undef TERN_LAPACK

#define TERN_LAPACK(P, T)                                                                                              \
  inline int orgqr(int m, int n, int k, T* a, int lda, const T* tau, T* work, int lwork) {                             \
    return LAPACKE_##P##ungqr_work(LAPACK_COL_MAJOR, m, n, k, a, lda, tau, work, lwork);                               \
  }                                                                                                                    \
  inline int ormqr(char side, char trans, int m, int n, int k, const T* a, int lda, const T* tau, T* c, int ldc,       \
                   T* work, int lwork) {                                                                               \
    return LAPACKE_##P##unmqr_work(LAPACK_COL_MAJOR, side, trans, m, n, k, a, lda, tau, c, ldc, work, lwork);          \
  }                                                                                                                    \
  inline int heevd(char job, char uplo, int n, T* a, int lda, RealPart<T>* w, T* work, int lwork, RealPart<T>* rwork,  \
                   int lrwork, int* iwork, int liwork) {                                                               \
    return LAPACKE_##P##heevd_work(LAPACK_COL_MAJOR, job, uplo, n, a, lda, w, work, lwork, rwork, lrwork, iwork,       \
                                   liwork);                                                                            \
  }                                                                                                                    \
  inline int geev(char job, int n, T* a, int lda, T* values, T* v, int ldv, T* work, int lwork, RealPart<T>* rwork) {  \
    return LAPACKE_##P##geev_work(LAPACK_COL_MAJOR, 'N', job, n, a, lda, values, nullptr, 1, v, ldv, work, lwork,      \
                                  rwork);                                                                              \
  }                                                                                                                    \
  inline int gesdd(char job, int m, int n, T* a, int lda, RealPart<T>* s, T* u, int ldu, T* vt, int ldvt, T* work,     \
                   int lwork, RealPart<T>* rwork, int* iwork) {                                                        \
    return LAPACKE_##P##gesdd_work(LAPACK_COL_MAJOR, job, m, n, a, lda, s, u, ldu, vt, ldvt, work, lwork, rwork,       \
                                   iwork);                                                                             \
  }                                                                                                                    \
  inline int hetrf(int n, T* a, int lda, int* pivots, T* work, int lwork) {                                            \
    return LAPACKE_##P##hetrf_work(LAPACK_COL_MAJOR, 'L', n, a, lda, pivots, work, lwork);                             \
  }                                                                                                                    \
  inline int hetrs(int n, int k, const T* a, int lda, const int* pivots, T* b, int ldb) {                              \
    return LAPACKE_##P##hetrs_work(LAPACK_COL_MAJOR, 'L', n, k, a, lda, pivots, b, ldb);                               \
  }                                                                                                                    \
  inline int gelsy(int m, int n, int k, T* a, int lda, T* b, int ldb, int* jpvt, RealPart<T> rcond, int* rank,         \
                   T* work, int lwork, RealPart<T>* rwork) {                                                           \
    return LAPACKE_##P##gelsy_work(LAPACK_COL_MAJOR, m, n, k, a, lda, b, ldb, jpvt, rcond, rank, work, lwork, rwork);  \
  }                                                                                                                    \
  inline int gelsd(int m, int n, int k, T* a, int lda, T* b, int ldb, RealPart<T>* s, RealPart<T> rcond, int* rank,    \
                   T* work, int lwork, RealPart<T>* rwork, int* iwork) {                                               \
    return LAPACKE_##P##gelsd_work(LAPACK_COL_MAJOR, m, n, k, a, lda, b, ldb, s, rcond, rank, work, lwork, rwork,      \
                                   iwork);                                                                             \
  }                                                                                                                    \
  inline int gelss(int m, int n, int k, T* a, int lda, T* b, int ldb, RealPart<T>* s, RealPart<T> rcond, int* rank,    \
                   T* work, int lwork, RealPart<T>* rwork) {                                                           \
    return LAPACKE_##P##gelss_work(LAPACK_COL_MAJOR, m, n, k, a, lda, b, ldb, s, rcond, rank, work, lwork, rwork);     \
  }                                                                                                                    \
  inline void trsm(CBLAS_SIDE side, CBLAS_UPLO uplo, CBLAS_TRANSPOSE trans, CBLAS_DIAG diag, int m, int n, const T* a, \
                   int lda, T* b, int ldb) {                                                                           \
    const T one(1);                                                                                                    \
    cblas_##P##trsm(CblasRowMajor, side, uplo, trans, diag, m, n, &one, a, lda, b, ldb);                               \
  }                                                                                                                    \
  inline void subtract_product(CBLAS_TRANSPOSE op_a, CBLAS_TRANSPOSE op_b, int m, int n, int k, const T* a, int lda,   \
                               const T* b, int ldb, T* c, int ldc) {                                                   \
    const T minus(-1), one(1);                                                                                         \
    cblas_##P##gemm(CblasRowMajor, op_a, op_b, m, n, k, &minus, a, lda, b, ldb, &one, c, ldc);                         \
  }                                                                                                                    \
  inline void square_product(int n, const T* a, const T* b, T* c) {                                                    \
    const T one(1), zero(0);                                                                                           \
    cblas_##P##gemm(CblasColMajor, CblasNoTrans, CblasNoTrans, n, n, n, &one, a, n, b, n, &zero, c, n);                \
  }
TERN_LAPACK_COMPLEX(TERN_LAPACK)
#undef TERN_LAPACK
#undef TERN_LAPACK_TYPES
#undef TERN_LAPACK_REAL
#undef TERN_LAPACK_COMPLEX

}  // namespace tern::lapack
