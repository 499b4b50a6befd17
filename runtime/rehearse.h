// Plans a program and requests every kernel of runs with these sizes from its device, without running the program:
// export learns the kernels' source texts.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/prepared.h"

namespace tern {

/// Rehearses every function compatible with these values of the program's symbols. The device accepts launches and
/// copies without executing them; values read back should be small and positive. Returns the number of incompatible
/// functions.
std::size_t rehearse(const PreparedProgram& prepared, std::span<const std::int64_t> symbols);

}  // namespace tern
