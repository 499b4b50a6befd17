// A row times a matrix, as a decoder of one text has it: bound by reading the matrix, which Tern's kernel does, too
// (kernels/portable/text/product_row.inc).
#pragma once

#include <tern/device.h>

namespace tern::gpu {

/// Whether Tern's kernel is to compute the product: it has one row, rows of the matrix' transpose follow each other,
/// and TERN_CUDA_ROWS or TERN_ROCM_ROWS says `own`; where it says nothing, on CUDA.
bool is_own_row(const tern_device_op& op);

}  // namespace tern::gpu
