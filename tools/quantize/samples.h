// The example inputs of --calibrate.
#pragma once

#include <string>
#include <vector>

#include "tools/quantize/float_program.h"
#include "tools/verify/results.h"

namespace tern {

/// Reads a call for each sample. `data` holds files and folders of samples, and NAME=FILE for an input shared by all
/// samples. Fails (invalid_argument) for missing inputs, other types, and NaN.
Calls read_samples(const FloatProgram& program, const std::vector<std::string>& data);

}  // namespace tern
