// Kernels of products and windows with the bits of docs/reproducible.md.
#pragma once

#include "kernels/kernel.h"

namespace tern::reproducible {

Kernel matmul_kernel();
Kernel convolution_kernel();
Kernel attention_kernel();

void register_contractions(KernelTable& t);

}  // namespace tern::reproducible
