// The example inputs of --calibrate.
#pragma once

#include <string>
#include <vector>

#include "tools/quantize/float_program.h"
#include "tools/verify/results.h"

namespace tern {

/// A call for each sample. `data` holds files and folders of samples, and NAME=FILE for an input that all of them
/// share. Fails (invalid_argument) on inputs that are missing, of another type, or hold NaN.
Calls read_samples(const FloatProgram& program, const std::vector<std::string>& data);

}  // namespace tern
