// The kernels of linear algebra, a file for each family, for the one registration.
#pragma once

#include "kernels/kernel.h"

namespace tern::cpu {

Kernel cholesky_kernel();
Kernel qr_kernel();
Kernel householder_kernel();
Kernel eigh_kernel();
Kernel eig_kernel();
Kernel svd_kernel();
Kernel lu_factor_kernel();
Kernel lu_solve_kernel();
Kernel triangular_solve_kernel();
Kernel ldl_factor_kernel();
Kernel ldl_solve_kernel();
Kernel lstsq_kernel();
Kernel matrix_exp_kernel();
Kernel fft_kernel();

/// Whether this kernel of lu_solve takes nodes that have lu_factor in them, which fusion makes: `a, -, b -> x`
/// without pivots, where `a` is the real matrix itself, B on its right (`left`), `transpose` is none or transpose,
/// `check` is lu_factor's, and the batch of the result is that of `a`.
bool solves_unfactored(const Kernel& lu_solve);

}  // namespace tern::cpu
