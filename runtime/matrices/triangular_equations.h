// Matrix equations with upper triangular coefficients.
#pragma once

#include "runtime/matrices/matrix.h"

namespace tern::matrices {

/// Overwrites F [m, n] by Y of R Y + Y S = F (Bartels and Stewart, 1972). Returns false if R and -S have a common
/// eigenvalue.
bool solve_sylvester(MatrixRef<const Complex> r, MatrixRef<const Complex> s, MatrixRef<Complex> f);
/// The same for R Y + Y R^H = F.
bool solve_lyapunov(MatrixRef<const Complex> r, MatrixRef<Complex> f);
/// Overwrites F [n, n] by Y of Y - R Y R^H = F (Kitagawa, 1977). Returns false if R has eigenvalues a and b with
/// a conj(b) = 1.
bool solve_stein(MatrixRef<const Complex> r, MatrixRef<Complex> f);

}  // namespace tern::matrices
