// Measures the kernels' algorithms for a program's nodes on this machine, in runs of the whole program.
#pragma once

#include <tern/tern.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "kernels/algorithm.h"
#include "schema/program.h"

namespace tern {

struct TuneOptions {
  double seconds = 60;                        ///< after which nothing new is tried
  std::map<std::string, std::int64_t> sizes;  ///< by symbols' names; others take a typical size
  /// Called before each trial with the elapsed share of the time and the name of the trial.
  std::function<void(double share, const std::string& what)> on_progress;
};

/// Nodes of equal op, sizes, types, attributes and epilogue that are done otherwise than the rules would.
struct TunedKind {
  std::string what;       ///< "convolution [1, 64, 56, 56] by [64, 64, 3, 3]"
  std::size_t nodes = 0;  ///< how many there are
  AlgorithmChoice before, after;
};

struct TuneReport {
  Tuning tuning;  ///< without choices where nothing is gained
  std::vector<TunedKind> kinds;
  double before = 0, after = 0;  ///< seconds of a run of all entry functions, medians of turns at the end
  std::size_t trials = 0;
  bool complete = true;               ///< everything was tried in time
  std::vector<std::string> left_out;  ///< functions that do not run on made-up inputs, and why
};

/// Runs every entry function of a model as it was opened, packed weights and all, on inputs that are made up: normal
/// floats, ones for integers (or zeros, where ones fail). One kind of nodes after the other, the longest first, is done
/// by each algorithm, in turns with the best so far.
TuneReport tune(const Model& model, const TuneOptions& options);

}  // namespace tern
