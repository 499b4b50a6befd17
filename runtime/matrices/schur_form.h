// Schur form of one matrix: A = Z T Z^H, T upper triangular, or quasi-triangular for real matrices.
#pragma once

#include "runtime/matrices/matrix.h"

namespace tern::matrices {

/// Overwrites finite A [n, n] by T, and Z [n, n] by the Schur vectors. Blocks of two rows of a real T have equal
/// diagonal elements and elements of opposite sign beside them (LAPACK's standard form). Large matrices use LAPACK's
/// gees where Tern has LAPACK; others a reduction to Hessenberg form and the QR algorithm (Francis, 1961) with shifts,
/// tests for deflation and standard blocks of LAPACK's lahqr and lanv2. Returns false without convergence.
template <class T>
bool to_schur_form(MatrixRef<T> a, MatrixRef<T> z);

/// Makes a real Schur form in complex numbers triangular: a rotation for each block of two rows.
void to_triangular(MatrixRef<Complex> t, MatrixRef<Complex> z);

}  // namespace tern::matrices
