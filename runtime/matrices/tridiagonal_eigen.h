// Eigenvalues of a real symmetric tridiagonal matrix.
#pragma once

#include "runtime/matrices/matrix.h"

namespace tern::matrices {

/// Overwrites the diagonal d [n] by the eigenvalues, ascending, and Z [n, n], if given, by the eigenvectors. e [n - 1],
/// the elements beside the diagonal, needs space for n elements and is overwritten. QL algorithm with implicit shifts
/// (Dubrulle, Martin and Wilkinson, 1968), LAPACK's steqr. Returns false without convergence.
bool eigen_of_tridiagonal(std::int64_t n, double* d, double* e, double* z);

}  // namespace tern::matrices
