// Training methods of a program: loss, gradients and one optimizer step, as functions of one archive.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "exporter/training/options.h"
#include "schema/program.h"

namespace tern {

struct TrainingReport {
  std::size_t trained = 0, frozen = 0;    ///< parameters
  std::uint64_t elements = 0;             ///< elements of the trained parameters
  std::vector<std::string> unused;        ///< parameters without a gradient; their values stay
  std::vector<std::string> groups;        ///< settings and parameters of each group, for people; empty without rules
  std::vector<std::string> unadapted;     ///< weights matched by TrainingOptions::lora, but not linear
  std::vector<std::string> tied_weights;  ///< weights matched by TrainingOptions::lora, but tied
};

/// Serves ImportOptions::transform of a program imported with ImportOptions::training. The program has `forward`, in
/// evaluation mode, and `train_step`, as exported; or `train_step` alone for a joint graph, with a loss and gradients
/// "grad:NAME" as results. Adds the methods of methods.h. Throws Error: invalid_argument for options unfit for the
/// program, unsupported for ops without a gradient.
TrainingReport add_training(Program& program, const TrainingOptions& options);

}  // namespace tern
