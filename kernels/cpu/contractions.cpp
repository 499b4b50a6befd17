// The kernels of contractions and windows, by op.
#include "kernels/cpu/contractions.h"

namespace tern {

void register_cpu_contractions(KernelTable& t) {
  t.set(Op::matmul, cpu::matmul_kernel());
  t.set(Op::convolution, cpu::convolution_kernel());
}

}  // namespace tern
