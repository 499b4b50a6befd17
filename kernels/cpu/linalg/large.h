// LAPACK's routines for single matrices in double precision, without an op. Each returns nothing in builds without
// LAPACK (kernels/cpu/absent/lapack.cpp), and the caller's own loops serve.
#pragma once

#include <complex>
#include <cstdint>
#include <optional>

namespace tern::cpu {

/// Overwrites A [n, n], in rows, by its Schur form T, and Z by the vectors. False: no convergence. LAPACK's gees.
std::optional<bool> lapack_schur(std::int64_t n, double* a, double* z);
std::optional<bool> lapack_schur(std::int64_t n, std::complex<double>* a, std::complex<double>* z);

/// Selected eigenvalues: numbers first .. last, from 0, or values in (low, high].
struct EigenRange {
  bool selects_values = false;
  std::int64_t first = 0, last = 0;
  double low = 0, high = 0;
};
/// Eigenvalues in `values` [n] and vectors in the columns of Z [n, n] (in rows; may be null) of the lower triangle of
/// A [n, n], in rows, which is overwritten. Returns their number, or -1 without convergence. LAPACK's heevr.
std::optional<std::int64_t> lapack_eigh_range(std::int64_t n, double* a, const EigenRange& range, double* values,
                                              double* z);
std::optional<std::int64_t> lapack_eigh_range(std::int64_t n, std::complex<double>* a, const EigenRange& range,
                                              double* values, std::complex<double>* z);
/// The same for a tridiagonal matrix: diagonal d [n] and e [n - 1], both overwritten. LAPACK's stevr.
std::optional<std::int64_t> lapack_tridiagonal_range(std::int64_t n, double* d, double* e, const EigenRange& range,
                                                     double* values, double* z);

}  // namespace tern::cpu
