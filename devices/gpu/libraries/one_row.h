// Products of a single row and a matrix, as in a decoder with one sequence. Reading the matrix bounds the speed, also
// of Tern's kernel (kernels/portable/text/product_row.inc).
#pragma once

#include <tern/device.h>

namespace tern::gpu {

/// True if Tern's kernel shall compute the product: a has one row, rows of b's transpose are contiguous, and
/// TERN_CUDA_ROWS (TERN_ROCM_ROWS) is `own`, or unset on CUDA.
bool is_own_row(const tern_device_op& op);

}  // namespace tern::gpu
