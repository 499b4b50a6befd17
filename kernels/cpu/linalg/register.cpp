// Kernels of linear algebra and transforms, by op.
#include "kernels/cpu/linalg/linalg.h"

namespace tern {

void register_cpu_linalg(KernelTable& t) {
  t.set(Op::cholesky, cpu::cholesky_kernel());
  t.set(Op::qr, cpu::qr_kernel());
  t.set(Op::householder, cpu::householder_kernel());
  t.set(Op::eigh, cpu::eigh_kernel());
  t.set(Op::eig, cpu::eig_kernel());
  t.set(Op::svd, cpu::svd_kernel());
  t.set(Op::lu_factor, cpu::lu_factor_kernel());
  t.set(Op::lu_solve, cpu::lu_solve_kernel());
  t.set(Op::triangular_solve, cpu::triangular_solve_kernel());
  t.set(Op::ldl_factor, cpu::ldl_factor_kernel());
  t.set(Op::ldl_solve, cpu::ldl_solve_kernel());
  t.set(Op::lstsq, cpu::lstsq_kernel());
  t.set(Op::matrix_exp, cpu::matrix_exp_kernel());
  t.set(Op::fft, cpu::fft_kernel());
}

}  // namespace tern
