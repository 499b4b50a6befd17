// The families of kernels/reproducible.h, a file each. docs/reproducible.md defines their results.
#pragma once

#include "kernels/kernel.h"

namespace tern {

void register_reproducible_reduce(KernelTable& t);
void register_reproducible_softmax(KernelTable& t);
void register_reproducible_normalizations(KernelTable& t);

}  // namespace tern
