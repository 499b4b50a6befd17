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
  double seconds = 60;                        ///< limit for starting trials
  std::map<std::string, std::int64_t> sizes;  ///< keyed by symbol name; others take a typical size
  /// Called before each trial with the elapsed share of the time and the name of the trial.
  std::function<void(double share, const std::string& what)> on_progress;
};

/// Nodes of equal op, sizes, types, attributes and epilogue, computed differently from the rules.
struct TunedKind {
  std::string description;  ///< "convolution [1, 64, 56, 56] by [64, 64, 3, 3]"
  std::size_t nodes = 0;    ///< number of nodes
  AlgorithmChoice rule_choice, tuned_choice;
};

struct TuneReport {
  Tuning tuning;  ///< holds only choices with a gain
  std::vector<TunedKind> kinds;
  double seconds_before = 0,
         seconds_after = 0;  ///< seconds of a run of all entry functions, medians of turns at the end
  std::size_t trials = 0;
  bool complete = true;               ///< everything was tried in time
  std::vector<std::string> left_out;  ///< functions failing on synthetic inputs, with reasons
};

/// Runs every entry function of an opened model, with packed weights, on synthetic inputs: normal floats, ones for
/// integers (or zeros, if ones fail). Each kind of nodes, the longest first, tries each algorithm in turns with the
/// best so far.
TuneReport tune(const Model& model, const TuneOptions& options);

}  // namespace tern
