// Kernels registered by register_cpu_reductions, one per op.
#pragma once

#include "kernels/kernel.h"

namespace tern {

void cpu_reduce(KernelCall& c);
std::unique_ptr<KernelState> prepare_cpu_reduce(const KernelCall& c);
void cpu_scan(KernelCall& c);
/// False for logarithms of sums in float64 or complex numbers.
bool cpu_serves_scan(const KernelCall& c);
void cpu_select_reduce(KernelCall& c);
void cpu_sort(KernelCall& c);
void cpu_topk(KernelCall& c);
// Keep equal elements in their original order, whatever the node says.
void cpu_stable_sort(KernelCall& c);
void cpu_stable_topk(KernelCall& c);
void cpu_softmax(KernelCall& c);
void cpu_layer_norm(KernelCall& c);
void cpu_rms_norm(KernelCall& c);
void cpu_group_norm(KernelCall& c);
void cpu_batch_norm(KernelCall& c);
void cpu_histogram(KernelCall& c);

}  // namespace tern
