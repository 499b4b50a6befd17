// Measurements of a run, node by node: from a run in this process, or from a trace.
#pragma once

#include <tern/tern.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tern::view {

struct RunFigures {
  std::string source;  ///< text to display: "5 runs with generated inputs", "run.json"
  std::uint64_t run_count = 0;
  std::vector<NodeTime> nodes;  ///< sums over all runs; `origin` and `module` are not used
};

/// Runs a function with generated inputs, twice to warm up, then 3 to 20 times, for half a second. Throws the errors of
/// a run.
RunFigures measured_run(const Model& model, const std::string& function, const std::vector<std::string>& sizes);

/// Reads a trace of `tern run --trace` in Chrome's JSON; decompresses a file named "*.gz". The time of a node on a
/// device is the time of its kernels. Throws io, bad_file for other files, invalid_argument for a trace without events
/// of nodes.
RunFigures traced_run(const std::string& path);

nlohmann::json to_json(const RunFigures& run);

}  // namespace tern::view
