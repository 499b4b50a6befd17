#include "kernels/cpu/contractions.h"
#include "kernels/cpu/reproducible/contractions.h"
#include "kernels/cpu/reproducible/or_integers.h"

namespace tern::reproducible {

void register_contractions(KernelTable& t) {
  t.set(Op::matmul, OrIntegers<matmul_kernel, cpu::matmul_kernel>::kernel());
  t.set(Op::grouped_matmul, cpu::grouped_matmul_in_order_kernel());
  t.set(Op::convolution, OrIntegers<convolution_kernel, cpu::convolution_kernel>::kernel());
  t.set(Op::attention, attention_kernel());
  t.set(Op::pool, cpu::pool_in_order_kernel());
  t.set(Op::adaptive_pool, cpu::adaptive_pool_in_order_kernel());
}

}  // namespace tern::reproducible
