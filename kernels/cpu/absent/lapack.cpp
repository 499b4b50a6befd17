// A build without LAPACK: the portable kernels of linear algebra serve, whose texts were compiled with Tern.
#include "kernels/cpu/linalg/linalg.h"
#include "kernels/portable/compiled.h"

namespace tern {

void register_cpu_linalg(KernelTable& t) {
  for (Op op : {Op::cholesky, Op::qr, Op::householder, Op::eigh, Op::eig, Op::svd, Op::lu_factor, Op::lu_solve,
                Op::triangular_solve, Op::ldl_factor, Op::ldl_solve, Op::lstsq, Op::matrix_exp}) {
    t.set(op, portable::compiled_kernel(Kernel{}));
  }
  t.set(Op::fft, cpu::fft_kernel());
}

}  // namespace tern
