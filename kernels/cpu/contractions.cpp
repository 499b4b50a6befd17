// The kernels of contractions and windows, by op.
#include "kernels/cpu/contractions.h"

namespace tern {

void register_cpu_contractions(KernelTable& t) {
  t.set(Op::matmul, cpu::matmul_kernel());
  t.set(Op::grouped_matmul, cpu::grouped_matmul_kernel());
  t.set(Op::convolution, cpu::convolution_kernel());
  t.set(Op::attention, cpu::attention_kernel());
  t.set(Op::pool, cpu::pool_kernel());
  t.set(Op::adaptive_pool, cpu::adaptive_pool_kernel());
  t.set(Op::fractional_pool, cpu::fractional_pool_kernel());
  t.set(Op::fold, cpu::fold_kernel());
  t.set(Op::resize, cpu::resize_kernel());
  t.set(Op::grid_sample, cpu::grid_sample_kernel());
  t.set(Op::rnn, cpu::rnn_kernel());
  t.set(Op::cdist, cpu::cdist_kernel());
  t.set(Op::nms, cpu::nms_kernel());
  t.set(Op::roi_align, cpu::roi_align_kernel());
}

}  // namespace tern
