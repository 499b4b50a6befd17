// What `reproducible` means for operators whose definition is not the formula in the archive.
#pragma once

#include "schema/program.h"

namespace tern {

/// `addcdiv` as fma(value, t1 / t2, input), as PyTorch's eager kernels on GPUs compute it; archives hold the formula of
/// its kernel for CPUs, input + (value * t1) / t2. Nodes keep their numbers.
Function with_definitions(const Program& program, Function f);

}  // namespace tern
