// The kernel of the stand-ins for cuSOLVER, cuBLAS and rocSOLVER: runs LAPACK in stream order. TERN_STAND_IN_LEAVES=N
// makes a routine fail on every N-th matrix and overwrite the matrix with NaN.
#include <lapacke.h>

#include <algorithm>
#include <complex>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <vector>

#include "tests/gpu/libraries/kernels.h"
#include "tests/gpu/libraries/solvers/call.h"
#include "tests/gpu/machine/pointer.h"

namespace {

using namespace tern::stand_in;
using tern::emulator::pointer;

template <class T>
struct ScalarTraits {
  using Real = T;
};
template <class R>
struct ScalarTraits<std::complex<R>> {
  using Real = R;
};
template <class T>
using Real = typename ScalarTraits<T>::Real;

/// LAPACK's routines of a type.
template <class T>
struct Lapack;
#define STAND_IN_LAPACK(T, C, letter, or_un, sy_he)                                                                   \
  template <>                                                                                                         \
  struct Lapack<T> {                                                                                                  \
    static C* p(T* x) { return reinterpret_cast<C*>(x); }                                                             \
    static int potrf(char uplo, int n, T* a, int lda) {                                                               \
      return LAPACKE_##letter##potrf(LAPACK_COL_MAJOR, uplo, n, p(a), lda);                                           \
    }                                                                                                                 \
    static int getrf(int m, int n, T* a, int lda, int* pivots) {                                                      \
      return LAPACKE_##letter##getrf(LAPACK_COL_MAJOR, m, n, p(a), lda, pivots);                                      \
    }                                                                                                                 \
    static int geqrf(int m, int n, T* a, int lda, T* tau) {                                                           \
      return LAPACKE_##letter##geqrf(LAPACK_COL_MAJOR, m, n, p(a), lda, p(tau));                                      \
    }                                                                                                                 \
    static int orgqr(int m, int n, int k, T* a, int lda, T* tau) {                                                    \
      return LAPACKE_##letter##or_un##gqr(LAPACK_COL_MAJOR, m, n, k, p(a), lda, p(tau));                              \
    }                                                                                                                 \
    static int syev(char job, char uplo, int n, T* a, int lda, Real<T>* w) {                                          \
      return LAPACKE_##letter##sy_he##ev(LAPACK_COL_MAJOR, job, uplo, n, p(a), lda, w);                               \
    }                                                                                                                 \
    static int gesvd(char u_job, char v_job, int m, int n, T* a, int lda, Real<T>* s, T* u, int ldu, T* v, int ldv) { \
      std::vector<Real<T>> rest(static_cast<std::size_t>(std::max(m, n)) + 1);                                        \
      return LAPACKE_##letter##gesvd(LAPACK_COL_MAJOR, u_job, v_job, m, n, p(a), lda, s, p(u), ldu, p(v), ldv,        \
                                     rest.data());                                                                    \
    }                                                                                                                 \
  };
STAND_IN_LAPACK(float, float, s, or, sy)
STAND_IN_LAPACK(double, double, d, or, sy)
STAND_IN_LAPACK(std::complex<float>, lapack_complex_float, c, un, he)
STAND_IN_LAPACK(std::complex<double>, lapack_complex_double, z, un, he)

template <class T>
T* place(std::uint64_t address, std::int64_t offset) {
  return address == 0 ? nullptr : pointer<T>(address) + offset;
}

/// Overwrites the unused triangle: callers must not rely on its contents.
template <class T>
void spoil(const SolverCall& c, T* a) {
  for (int j = 0; j < c.n; ++j)
    for (int i = 0; i < c.n; ++i)
      if (c.upper ? i > j : i < j)
        a[i + static_cast<std::ptrdiff_t>(j) * c.lda] = std::numeric_limits<Real<T>>::quiet_NaN();
}

template <class T>
int svd(const SolverCall& c, T* a, std::int64_t b) {
  const auto values = place<Real<T>>(c.values, b * c.steps);
  T* const u = place<T>(c.u, b * c.m * c.u_columns);
  T* const v = place<T>(c.v, b * c.n * c.v_rows);
  if (!c.has_vectors) {  // vectors are undefined then
    std::fill_n(u, static_cast<std::ptrdiff_t>(c.m) * c.u_columns, std::numeric_limits<Real<T>>::quiet_NaN());
    std::fill_n(v, static_cast<std::ptrdiff_t>(c.n) * c.v_rows, std::numeric_limits<Real<T>>::quiet_NaN());
  }
  if (!c.has_vectors) return Lapack<T>::gesvd('N', 'N', c.m, c.n, a, c.lda, values, nullptr, 1, nullptr, 1);
  const int least = std::min(c.m, c.n);
  std::vector<T> adjoint(static_cast<std::size_t>(c.n) * static_cast<std::size_t>(c.v_rows));
  const int info = Lapack<T>::gesvd(c.u_columns > least ? 'A' : 'S', c.v_rows > least ? 'A' : 'S', c.m, c.n, a, c.lda,
                                    values, u, c.m, adjoint.data(), c.v_rows);
  for (int i = 0; i < c.v_rows; ++i) {
    for (int j = 0; j < c.n; ++j) {
      const T e =
          adjoint[static_cast<std::size_t>(i) + static_cast<std::size_t>(j) * static_cast<std::size_t>(c.v_rows)];
      if (!c.v_is_plain) v[i + static_cast<std::ptrdiff_t>(j) * c.v_rows] = e;
      if constexpr (std::is_same_v<T, Real<T>>) {
        if (c.v_is_plain) v[j + static_cast<std::ptrdiff_t>(i) * c.n] = e;
      } else {
        if (c.v_is_plain) v[j + static_cast<std::ptrdiff_t>(i) * c.n] = std::conj(e);
      }
    }
  }
  return info;
}

template <class T>
int factor(const SolverCall& c, T* a, T* tau, std::int64_t b) {
  const char uplo = c.upper ? 'U' : 'L';
  switch (c.routine) {
    case SolverRoutine::potrf: {
      const int info = Lapack<T>::potrf(uplo, c.n, a, c.lda);
      spoil(c, a);
      return info;
    }
    case SolverRoutine::getrf: return Lapack<T>::getrf(c.m, c.n, a, c.lda, place<int>(c.pivots, b * c.steps));
    case SolverRoutine::geqrf: return Lapack<T>::geqrf(c.m, c.n, a, c.lda, tau);
    case SolverRoutine::orgqr:
      // Columns without a reflection are results only; LAPACKE checks these for NaN, too.
      std::fill_n(a + static_cast<std::ptrdiff_t>(c.k) * c.lda, static_cast<std::ptrdiff_t>(c.n - c.k) * c.lda, T());
      return Lapack<T>::orgqr(c.m, c.n, c.k, a, c.lda, tau);
    case SolverRoutine::syev:
      return Lapack<T>::syev(c.has_vectors ? 'V' : 'N', uplo, c.n, a, c.lda, place<Real<T>>(c.values, b * c.steps));
    case SolverRoutine::gesvd: return svd(c, a, b);
  }
  return -1;
}

template <class T>
void factor_all(const SolverCall& c, int leaves) {
  for (std::int64_t b = 0; b < c.count; ++b) {
    const bool list = c.a_is_list;
    T* const a = list ? pointer<T>(pointer<const std::uint64_t>(c.a)[b]) : place<T>(c.a, b * c.a_stride);
    T* const tau =
        list && c.tau != 0 ? pointer<T>(pointer<const std::uint64_t>(c.tau)[b]) : place<T>(c.tau, b * c.steps);
    int info = 0;
    if (c.info != 0 && leaves != 0 && b % leaves == 0) {
      std::fill_n(a, static_cast<std::ptrdiff_t>(c.lda) * c.n, std::numeric_limits<Real<T>>::quiet_NaN());
      info = c.n + 1;
    } else {
      info = factor<T>(c, a, tau, b);
    }
    if (c.info != 0) pointer<int>(c.info)[b] = info;
  }
}

}  // namespace

void tern::stand_in::solver(const tern_emulated_launch* launch) {
  SolverCall c;
  std::memcpy(&c, launch->parameters, sizeof c);
  if (c.workspace != 0) std::memset(pointer(c.workspace), 0xA5, c.work_bytes);
  const char* text = std::getenv("TERN_STAND_IN_LEAVES");
  const int leaves = text == nullptr ? 0 : std::atoi(text);
  if (c.type == 0) factor_all<float>(c, leaves);
  if (c.type == 1) factor_all<double>(c, leaves);
  if (c.type == 2) factor_all<std::complex<float>>(c, leaves);
  if (c.type == 3) factor_all<std::complex<double>>(c, leaves);
}
