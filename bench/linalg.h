// Batches of small matrices, timed by a script alternating between Tern, PyTorch, SciPy and NumPy.
#pragma once

namespace tern::bench {

/// Reads a command a line from standard input, and answers with a line:
///   make OP TYPE N BATCH THREADS   a program of BATCH matrices of N x N -> ok
///   run                            seconds of a run, and seconds of all threads together
/// OP: cholesky, solve (one right hand side, also below), inv, qr, eigh, eigvalsh, svd, svdvals, lu_factor, det,
/// slogdet, triangular_solve, cholesky_solve, lstsq, pinv, matrix_exp, eig, ldl_factor. TYPE: float32, float64,
/// complex64 or complex128.
int serve_linalg();

}  // namespace tern::bench
