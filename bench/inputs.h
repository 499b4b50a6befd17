// Inputs for measurements.
#pragma once

#include <tern/tern.h>

#include <vector>

namespace tern::bench {

/// A tensor for each input of the program's first function: 0.5 for float32, else zeros. Dynamic sizes have their
/// smallest value.
std::vector<Tensor> inputs_of(const Model& model);

}  // namespace tern::bench
