// Registration for kernels/kernel.cpp.
#pragma once

#include "kernels/kernel.h"

namespace tern {
/// Registers the op optim.
void register_cpu_optim(KernelTable& t);
}  // namespace tern
