// The CPU's kernels for PrepareOptions::reproducible: what docs/reproducible.md defines, on every processor.
#pragma once

#include "kernels/kernel.h"

namespace tern {

/// cpu_kernels(), but for ops whose results there depend on the processor or differ from the portable kernels'.
const KernelTable& reproducible_cpu_kernels();

}  // namespace tern
