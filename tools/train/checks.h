// What `tern train` finds out before it begins, so that a run does not end for it after hours.
#pragma once

#include <tern/tern.h>

#include <cstdint>
#include <string>

#include "tools/train/data.h"
#include "tools/train/options.h"

namespace tern::train {

/// Fails (invalid_argument) where two outputs are one file, or the trace would replace what is read. `trace`: this
/// rank's, or empty.
void check_names(const TrainOptions& options, const std::string& trace);

/// Fails (io) where a file cannot be written, invalid_argument where one would replace the data.
void check_outputs(const TrainOptions& options);

/// Fails (invalid_argument) where `names` is for something that is no input of the function: a typing error would go
/// unnoticed, and the array of the input's own name be taken.
void check_array_names(const FunctionInfo& f, std::string_view without, const ArrayNames& names);

/// Samples that a function takes `batch` at a time.
struct Batches {
  std::uint64_t samples = 0, batch = 0;
  bool whole = false;  ///< what is left at the end, less than a batch, is left out
  std::string what;    ///< "samples to train"
  int ranks = 1;       ///< that share each batch
};
/// Fails (invalid_argument) where there is no batch, or the inputs take no batches of such sizes.
void check_batches(const FunctionInfo& f, std::string_view without, const Batches& batches, const std::string& file);

/// Fails (runtime) where a parameter that is trained is not finite: the run has lost what it learnt.
void check_parameters(const Model& model, const Session& session, std::uint64_t step);

}  // namespace tern::train
