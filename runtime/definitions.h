// Formulas with another definition in `reproducible` runs.
#pragma once

#include "schema/program.h"

namespace tern {

/// Changes nodes with exactly the formula of `addcdiv`, x + (value * t1) / t2 as in PyTorch's CPU kernel, to fma(value,
/// t1 / t2, x) as in PyTorch's eager GPU kernels. Nodes keep their numbers.
Function with_definitions(Function f);

}  // namespace tern
