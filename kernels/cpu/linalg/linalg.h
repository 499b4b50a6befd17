// Kernels of linear algebra, a file per family, for the one registration.
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

/// True if this kernel of lu_solve takes nodes with a fused lu_factor: `a, -, b -> x` without pivots, with the real
/// matrix `a` itself, B on its right (`left`), `transpose` none or transpose, `check` from lu_factor, and the batch of
/// `a` for the result.
bool solves_unfactored(const Kernel& lu_solve);

}  // namespace tern::cpu
