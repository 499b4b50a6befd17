// The inputs of each call of a function, from files and random numbers.
#pragma once

#include <tern/tern.h>

#include <string>
#include <vector>

#include "tools/inputs.h"

namespace tern {

/// A tensor for each input that the caller gives, in order, for each call: one, or as many as the files hold
/// (--sequence, or tensors named callC.NAME). A tensor in a file is an input's by its name, by its position ("in0",
/// NumPy's "arr_0"), or because an .npy file and the function have one each. Expected results that a conformance case
/// holds beside its inputs ("out0") are passed over; any other tensor that is no input's is an error.
std::vector<std::vector<Tensor>> gather_calls(const Model& model, const std::string& function,
                                              const InputChoice& choice);

/// The inputs of the only call; more than one is an error (invalid_argument).
std::vector<Tensor> one_call(const Model& model, const std::string& function, const InputChoice& choice);

}  // namespace tern
