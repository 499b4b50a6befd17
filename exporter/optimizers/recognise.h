// Steps of optimizers that PyTorch exported operator by operator become the op.
#pragma once

#include <cstddef>

#include "schema/program.h"

namespace tern {

/// In each entry function: parameters and states that it writes back, and whose new values pointwise nodes compute as
/// an optimizer of torch.optim does (exporter/optimizers/fit.h). All parameters of one optimizer with the same options
/// become one node. The number of parameters.
std::size_t recognise_optimizers(Program& program);

}  // namespace tern
