// Formulas that `reproducible` defines in another way.
#pragma once

#include "schema/program.h"

namespace tern {

/// Nodes whose whole formula is `addcdiv`'s, x + (value * t1) / t2, which is that of PyTorch's kernel for CPUs, compute
/// fma(value, t1 / t2, x) instead, as its eager kernels for GPUs do. Nodes keep their numbers.
Function with_definitions(Function f);

}  // namespace tern
