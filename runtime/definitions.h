// Formulas with another definition in `reproducible` runs and on GPUs.
#pragma once

#include "schema/program.h"

namespace tern {

/// Changes nodes with exactly the formula of `addcdiv`, x + (value * t1) / t2 as in PyTorch's CPU kernel, to fma(value,
/// t1 / t2, x) as in PyTorch's eager GPU kernels. Nodes keep their numbers.
Function apply_definitions(Function f);

/// The same, and nodes with exactly the formula of `lerp` round once after the difference, as in PyTorch's eager GPU
/// kernels: fma(w, y - x, x), or fma(-(y - x), 1 - w, y) from |w| = 0.5 on.
Function apply_gpu_rounding(Function f);

}  // namespace tern
