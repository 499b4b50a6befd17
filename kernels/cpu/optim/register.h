// Registration, by kernels/kernel.cpp.
#pragma once

#include "kernels/kernel.h"

namespace tern {
/// The op optim.
void register_cpu_optim(KernelTable& t);
}  // namespace tern
