// The inputs of each call of a function, from files and random numbers.
#pragma once

#include <tern/tern.h>

#include <string>
#include <vector>

#include "tools/inputs.h"

namespace tern {

/// Reads a tensor for each input passed by the caller, in order, for each call: a single call, or all calls in the
/// files (--sequence, or tensors named callC.NAME). A tensor in a file belongs to an input by name, by position ("in0",
/// NumPy's "arr_0"), or because an .npy file and the function have exactly one each. Expected results of a conformance
/// case ("out0") are skipped; any other tensor without an input is an error.
std::vector<std::vector<Tensor>> gather_calls(const Model& model, const std::string& function,
                                              const InputChoice& choice);

/// The inputs of the only call; several calls are an error (invalid_argument).
std::vector<Tensor> one_call(const Model& model, const std::string& function, const InputChoice& choice);

}  // namespace tern
