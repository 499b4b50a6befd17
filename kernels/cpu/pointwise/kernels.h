// Kernels of the pointwise family, registered one file at a time.
#pragma once

#include <string>

#include "kernels/kernel.h"

namespace tern::pointwise {

void register_pointwise(KernelTable& t);
void register_reproducible_pointwise(KernelTable& t);  ///< same bits as the portable kernels
void register_sources(KernelTable& t);                 ///< full, iota, from_dim
void register_random(KernelTable& t);
void register_quantized(KernelTable& t);  ///< mx_pack, dequantize

}  // namespace tern::pointwise
