// Stands in for LAPACK in builds without LAPACK: the portable definitions of linear algebra, compiled into Tern, serve.
#include "kernels/cpu/linalg/linalg.h"

namespace tern {

void register_cpu_linalg(KernelTable& t) {
  t.set(Op::fft, cpu::fft_kernel());
}

namespace cpu {

bool solves_unfactored(const Kernel&) {
  return false;
}

}  // namespace cpu
}  // namespace tern
