// Checks before the start of `tern train`, to prevent late failures.
#pragma once

#include <tern/tern.h>

#include <cstdint>
#include <string>

#include "tools/train/data.h"
#include "tools/train/options.h"

namespace tern::train {

/// Fails (invalid_argument) if two outputs are the same file, or the trace would overwrite an input. `trace`: this
/// rank's trace, or empty.
void check_names(const TrainOptions& options, const std::string& trace);

/// Fails (io) for an unwritable file, invalid_argument for an output overwriting the data.
void check_outputs(const TrainOptions& options);

/// Fails (invalid_argument) if `names` contains a name other than the function's inputs: a typing error would go
/// unnoticed, and the array of the input's own name would be used.
void check_array_names(const FunctionInfo& f, std::string_view excluded_input, const ArrayNames& names);

/// Number of samples taken by a function in batches of `batch`.
struct Batches {
  std::uint64_t samples = 0, batch = 0;
  bool drop_last = false;   ///< drops the last, incomplete batch
  std::string description;  ///< "samples to train"
  int ranks = 1;            ///< ranks sharing each batch
};
/// Fails (invalid_argument) if there is no batch, or the inputs do not accept batches of these sizes.
void check_batches(const FunctionInfo& f, std::string_view excluded_input, const Batches& batches,
                   const std::string& file);

/// Fails (runtime) if a trained parameter is not finite: the run has lost its progress.
void check_parameters(const Model& model, const Session& session, std::uint64_t step);

}  // namespace tern::train
