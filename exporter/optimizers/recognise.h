// Turns optimizer steps exported operator by operator into the op.
#pragma once

#include <cstddef>

#include "schema/program.h"

namespace tern {

/// Finds, in each entry function, written-back parameters and states updated by pointwise nodes like an optimizer of
/// torch.optim (exporter/optimizers/fit.h). All parameters of one optimizer with equal options become one node. Returns
/// the number of parameters.
std::size_t recognise_optimizers(Program& program);

}  // namespace tern
