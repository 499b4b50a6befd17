#include "kernels/cpu/indexing/indexing.h"

namespace tern {

void register_cpu_indexing(KernelTable& t) {
  // Bit i allows any strides for operand i; other operands are contiguous.
  t.set(Op::gather, {.run = cpu_gather, .strided = 0b1});
  t.set(Op::index_select, {.run = cpu_index_select});
  t.set(Op::index, {.run = cpu_index, .strided = ~std::uint32_t{1}});
  t.set(Op::embedding_bag, {.run = cpu_embedding_bag, .serves = cpu_serves_embedding_bag});
  t.set(Op::searchsorted, {.run = cpu_searchsorted, .serves = cpu_serves_searchsorted});
  t.set(Op::index_put, {.run = cpu_index_put, .strided = 0b11, .in_place = 0});
  t.set(Op::scatter, {.run = cpu_scatter, .strided = 0b101, .in_place = 0});
  t.set(Op::unique, {.run = cpu_unique});
  t.set(Op::bincount, {.run = cpu_bincount});
  t.set(Op::repeat_interleave, {.run = cpu_repeat_interleave});
}

}  // namespace tern
