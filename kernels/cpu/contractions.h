// The kernels of contractions and windows, one file each, for the one registration of the family.
#pragma once

#include "kernels/kernel.h"

namespace tern::cpu {

Kernel matmul_kernel();
Kernel grouped_matmul_kernel();
Kernel convolution_kernel();
Kernel attention_kernel();
Kernel pool_kernel();
Kernel adaptive_pool_kernel();
Kernel fractional_pool_kernel();
Kernel fold_kernel();
Kernel resize_kernel();
Kernel grid_sample_kernel();
Kernel rnn_kernel();
Kernel cdist_kernel();
Kernel nms_kernel();
Kernel roi_align_kernel();

/// The same, sums made in the order of docs/reproducible.md.
Kernel grouped_matmul_in_order_kernel();
Kernel pool_in_order_kernel();
Kernel adaptive_pool_in_order_kernel();

}  // namespace tern::cpu
