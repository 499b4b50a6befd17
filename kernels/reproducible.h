// The CPU's kernels for PrepareOptions::reproducible: the definitions of docs/reproducible.md, on every processor.
#pragma once

#include "kernels/kernel.h"

namespace tern {

/// cpu_kernels(), except for ops with results depending on the processor or differing from the portable kernels'.
const KernelTable& reproducible_cpu_kernels();

}  // namespace tern
