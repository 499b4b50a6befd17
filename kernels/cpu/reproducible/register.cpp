#include "kernels/cpu/contractions.h"
#include "kernels/cpu/reproducible/contractions.h"
#include "kernels/cpu/reproducible/or_integers.h"

namespace tern::reproducible {
namespace {

/// Ordered sums read floats: a quantized weight is widened first, a group's matrix at a time.
Widening widening(const KernelCall& c) {
  if (c.in[1].blocks.columns == 0) return {};
  return {static_cast<std::uint64_t>(c.in[1].numel() * element_size(DType::f32)), false};
}

Kernel widens(Kernel k) {
  k.widening = widening;
  return k;
}

}  // namespace

void register_contractions(KernelTable& t) {
  t.set(Op::matmul, widens(OrIntegers<matmul_kernel, cpu::matmul_kernel>::kernel()));
  t.set(Op::grouped_matmul, widens(cpu::grouped_matmul_in_order_kernel()));
  t.set(Op::convolution, widens(OrIntegers<convolution_kernel, cpu::convolution_kernel>::kernel()));
  t.set(Op::attention, attention_kernel());
  t.set(Op::pool, cpu::pool_in_order_kernel());
  t.set(Op::adaptive_pool, cpu::adaptive_pool_in_order_kernel());
}

}  // namespace tern::reproducible
