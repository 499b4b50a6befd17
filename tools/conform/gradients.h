// The gradients of a case: PyTorch's are `gradK` in the file, Tern's are derived by the exporter.
#pragma once

#include <vector>

#include "schema/program.h"
#include "tools/conform/case.h"

namespace tern {

/// Differentiates the entry function for the case's loss, the sum over its floating outputs `outK` of sum(outK * cos(0,
/// 1, 2, ...)). The gradients of the inputs K with a `gradK` in the case become further outputs, in the order of K.
/// Fails (unsupported) if the exporter has no gradient.
void add_case_gradients(Program& program, const ConformCase& c);

}  // namespace tern
