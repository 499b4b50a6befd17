// Methods that train a program: loss, gradients and one step of an optimizer, in the functions of one archive.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "exporter/training/options.h"
#include "schema/program.h"

namespace tern {

struct TrainingReport {
  std::size_t trained = 0, frozen = 0;        ///< parameters
  std::uint64_t elements = 0;                 ///< of the trained ones
  std::vector<std::string> unused;            ///< parameters that no gradient reaches: they keep their values
  std::vector<std::string> without_adapters;  ///< weights that TrainingOptions::lora matches, but that are not linear
};

/// For ImportOptions::transform of a program that was imported with ImportOptions::training. It has `forward`, in
/// evaluation mode, and `train_step`, as it was exported; or `train_step` alone if the file holds a joint graph, whose
/// results are a loss and gradients "grad:NAME". Gives it the methods of methods.h. Throws Error: invalid_argument for
/// options that do not fit the program, unsupported where an op has no gradient.
TrainingReport add_training(Program& program, const TrainingOptions& options);

}  // namespace tern
