// Inputs for measurements.
#pragma once

#include <tern/tern.h>

#include <vector>

namespace tern::bench {

/// One tensor for each input of the program's first function: 0.5 where it is float32, else zeros. Sizes that may
/// change are the smallest that are allowed.
std::vector<Tensor> inputs_of(const Model& model);

}  // namespace tern::bench
