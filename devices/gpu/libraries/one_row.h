// A row times a matrix, as a decoder of one text has it: it is bound by reading the matrix, which Tern's kernel does as
// soon as it starts (kernels/portable/text/product_row.inc).
#pragma once

#include <tern/device.h>

namespace tern::gpu {

/// Whether Tern's kernel is to compute the product, because it has one row and rows of the matrix' transpose follow
/// each other. TERN_CUDA_ROWS and TERN_ROCM_ROWS say `own` or `library` for all of them.
bool is_own_row(const tern_device_op& op);

}  // namespace tern::gpu
