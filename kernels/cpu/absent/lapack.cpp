// A build without LAPACK: the definitions of linear algebra serve, whose texts were compiled with Tern.
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
