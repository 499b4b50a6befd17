// Kernels registered by register_cpu_indexing, one per op.
#pragma once

#include "kernels/kernel.h"

namespace tern {

void cpu_gather(KernelCall& c);
void cpu_index_select(KernelCall& c);
/// Selects rows of a quantized value. The result is not empty.
void cpu_select_quantized_rows(KernelCall& c);
void cpu_index(KernelCall& c);
void cpu_embedding_bag(KernelCall& c);
/// True for float tables, if only the result is read.
bool cpu_serves_embedding_bag(const KernelCall& c);
void cpu_searchsorted(KernelCall& c);
/// False for searches by a sorter.
bool cpu_serves_searchsorted(const KernelCall& c);
void cpu_index_put(KernelCall& c);
void cpu_scatter(KernelCall& c);
void cpu_unique(KernelCall& c);
void cpu_bincount(KernelCall& c);
void cpu_repeat_interleave(KernelCall& c);

}  // namespace tern
